// The definition of top-k: a stable sort.
#pragma once

#include "kernels/top_k.h"

namespace jumok::kernels::ref {

// Same arguments and meaning as the functions of kernels/top_k.h.
int top_k(const float* x, int64_t n, int k, int32_t* columns, float* values);

}  // namespace jumok::kernels::ref
