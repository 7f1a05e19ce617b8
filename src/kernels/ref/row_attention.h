// The definition of the RNN attentions, one pair at a time in float64: what kernels/row_attention.h is tested against.
#pragma once

#include "kernels/row_attention.h"

namespace jumok::kernels::ref {

// Same arguments and meaning as the functions of kernels/row_attention.h; gradient.workspace is not used.
void row_attention_forward(const RowAttention& in, Rows out, float* lse);
void row_attention_backward(const RowAttention& in, const RowAttentionGradient& gradient);
void row_attention_weights(const RowAttention& in, int sentence, int head, float* weights);

// One head of one sentence, in float64 all the way; matrices packed without gaps.
struct RowProblem {
  RowScore score = RowScore::kDot;
  int64_t queries = 0, keys = 0, key_width = 0, value_width = 0;
  const double *q = nullptr, *k = nullptr, *v = nullptr, *u = nullptr;  // [T, d_k], [S, d_k], [S, d_v], [d_k]
  double scale = 1;
  const int64_t *first = nullptr, *last = nullptr;  // [T]
  const uint8_t* mask = nullptr;                    // [T, S] not 0: may attend; null: all
  const double* bias = nullptr;                     // [T, S] added to the score, -inf blocks; null: none
  const double* centre = nullptr;                   // [T]; null: no Gaussian
  double sigma = 1;
  const double* kept = nullptr;  // [T, S] what dropout multiplies the weights with: 0 or 1/(1 - rate); null: no dropout
};
struct RowResult {
  double* weights = nullptr;  // [T, S] after the Gaussian, before dropout
  double* out = nullptr;      // [T, d_v]
  double* lse = nullptr;      // [T]
};
struct RowDerivative {
  double *dq = nullptr, *dk = nullptr, *dv = nullptr, *du = nullptr, *dcentre = nullptr;  // shapes of the problem's; added to
  double* dbias = nullptr;                                                                // [T, S], likewise; null: not wanted
};
void row_attention_forward(const RowProblem& in, const RowResult& result);
void row_attention_backward(const RowProblem& in, const double* dout, const RowDerivative& gradient);

}  // namespace jumok::kernels::ref
