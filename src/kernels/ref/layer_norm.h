// The definition of residual + dropout + layer norm: plain loops, float64 inside.
#pragma once

#include "kernels/layer_norm.h"

namespace jumok::kernels::ref {

// Same arguments and meaning as the functions of kernels/layer_norm.h.
void add_norm_forward(const AddNorm& in, Rows s, Rows y, float* mean, float* rstd);
void add_norm_backward(const AddNorm& in, ConstRows s, const float* mean, const float* rstd, const AddNormGradient& gradient);

}  // namespace jumok::kernels::ref
