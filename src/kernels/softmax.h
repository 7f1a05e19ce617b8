// Row softmax, log-sum-exp, and the label-smoothed cross-entropy of a chunk of logits.
#pragma once

#include "kernels/rows.h"

namespace jumok::kernels {

// y_r = softmax(x_r); in place allowed. A row whose values are all -inf gives zeros; one that holds a NaN or +inf is NaN throughout.
void softmax(ConstRows x, Rows y);
// log Σ_c exp(x[r, c]) per row; -inf for a row of -inf (or no columns), NaN where a NaN or +inf is among the values.
void log_sum_exp(ConstRows x, float* lse);

// Cross-entropy against the smoothed target q = (1 - ε)·onehot + ε/V (Szegedy 2016; Vaswani 2017 §5.4), for logits [N, V] and targets [N] in [0, V):
//   loss_n = lse_n - (1 - ε) x[n, t_n] - ε/V Σ_c x[n, c]        nll_n = lse_n - x[n, t_n]
// Adds Σ loss_n and Σ nll_n to the two sums (f64). With `gradient`, the logits are overwritten by d loss/d logits = softmax(x) - q.
struct CrossEntropySums {
  double loss = 0, nll = 0;
};
void cross_entropy(Rows logits, const int32_t* targets, float smoothing, bool gradient, CrossEntropySums& sums);

}  // namespace jumok::kernels
