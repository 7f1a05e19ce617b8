// The attention of the RNN models as an op: additive (Bahdanau 2015), dot or given scores (Luong 2015), in a window and with a Gaussian.
#pragma once

#include <span>

#include "autograd/context.h"
#include "autograd/scaled_dot.h"
#include "kernels/row_attention.h"

namespace jumok {

// As kernels/row_attention.h has it. Spans must outlive the tape.
struct RowAttentionInput {
  Variable q, k, v;  // [Nq, H·d_k], [Nk, H·d_k], [Nk, H·d_v]; kGiven: q holds the scores and k has no value
  Parameter u;       // [1, H·d_k], of kAdditive
  AttentionRows rows;
  kernels::RowScore score = kernels::RowScore::kDot;
  int heads = 1;
  float scale = 1;                       // of kDot
  std::span<const int32_t> first, last;  // [Nq] each, the keys a query sees; empty: all
  Variable centre;                       // [Nq, 1], or no value: no Gaussian
  float sigma = 1;
  kernels::Dropout dropout;  // on the weights
};

// [Nq, H·d_v]. Gradients of q, k, v and centre add to what is there, zeros at first: a decoder calls this once per time step, for the
// sentences still alive, on keys and values that all steps share.
Variable row_attention(Context& context, const RowAttentionInput& in);

// The weights of one sentence and head, [T, S] row-major into `weights`: after the Gaussian, before dropout.
void row_attention_weights(const Context& context, const RowAttentionInput& in, int sentence, int head, float* weights);

}  // namespace jumok
