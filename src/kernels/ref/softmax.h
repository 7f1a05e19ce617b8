// The definition of softmax, log-sum-exp and cross-entropy: plain loops, float64 inside.
#pragma once

#include "kernels/softmax.h"

namespace jumok::kernels::ref {

// Same arguments and meaning as the functions of kernels/softmax.h.
void softmax(ConstRows x, Rows y);
void log_sum_exp(ConstRows x, float* lse);
void cross_entropy(Rows logits, const int32_t* targets, float smoothing, bool gradient, CrossEntropySums& sums);

}  // namespace jumok::kernels::ref
