// The definition of attention, one pair at a time in float64: what kernels/attention.h is tested against.
#pragma once

#include "kernels/attention.h"

namespace jumok::kernels::ref {

// Same arguments and meaning as the functions of kernels/attention.h; gradient.workspace is not used.
void attention_forward(const Attention& in, Rows out, float* lse);
void attention_backward(const Attention& in, const AttentionGradient& gradient);
void attention_weights(const Attention& in, int sentence, int head, float* weights);

// Of one head of one sentence, in float64 all the way. Views of T × d_k, S × d_k, S × d_v values, packed without gaps.
struct AttentionProblem {
  int64_t queries = 0, keys = 0, key_width = 0, value_width = 0;
  const double *q = nullptr, *k = nullptr, *v = nullptr;
  double scale = 1;
  bool causal = false;
  const double* kept = nullptr;      // [T, S] what dropout multiplies the weights with: 0 or 1/(1 - rate); null: no dropout
  const uint8_t* allowed = nullptr;  // [T, S] pairs that may attend, besides the causal rule; null: all
  const double* bias = nullptr;      // [T, S] added to the scores; -inf blocks
};
struct AttentionResult {
  double* weights = nullptr;  // [T, S] before dropout
  double* out = nullptr;      // [T, d_v]
  double* lse = nullptr;      // [T]
};
void attention_forward(const AttentionProblem& in, const AttentionResult& result);
// dq, dk, dv and, where it is wanted, dbias [T, S] are overwritten.
void attention_backward(const AttentionProblem& in, const double* dout, double* dq, double* dk, double* dv, double* dbias = nullptr);

}  // namespace jumok::kernels::ref
