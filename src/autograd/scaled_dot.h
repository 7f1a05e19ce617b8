// Scaled dot-product attention as an op (Vaswani 2017, eq. 1): softmax(scale · Q Kᵀ) V per head, over packed batches.
#pragma once

#include <span>

#include "autograd/context.h"

namespace jumok {

// Which rows belong to which sentence, of queries and of keys. Spans are [sentences] each and must outlive the tape.
struct AttentionRows {
  std::span<const int32_t> query_begin, query_length, key_begin, key_length;
};

struct ScaledDotInput {
  Variable q, k, v;  // [Nq, H·d], [Nk, H·d], [Nk, H·d_v]
  AttentionRows rows;
  int heads = 1;
  float scale = 1;
  bool causal = false;
  kernels::Dropout dropout;  // on the weights
};
Variable scaled_dot(Context& context, const ScaledDotInput& in);  // [Nq, H·d_v]

// The weights of one sentence and head, [T, S] row-major into `weights`, before dropout.
void scaled_dot_weights(const ScaledDotInput& in, int sentence, int head, float* weights);

}  // namespace jumok
