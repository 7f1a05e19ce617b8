// The k best columns of a row of logits.
#pragma once

#include <cstdint>

namespace jumok::kernels {

// Writes the k largest of x[0, n) in falling order (equal values: lower column first): columns and values. NaN counts as -inf. Returns how many
// were written: min(k, n). k is small (a beam).
int top_k(const float* x, int64_t n, int k, int32_t* columns, float* values);

}  // namespace jumok::kernels
