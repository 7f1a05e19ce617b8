// Residual + dropout + layer norm in one pass each way (Ba, Kiros, Hinton 2016; Vaswani 2017 §3.1, §5.4).
#pragma once

#include "kernels/dropout.h"
#include "kernels/rows.h"

namespace jumok::kernels {

//   s = x + dropout(f)                     f may be absent (data null): s = x
//   y = (s - mean(s)) / sqrt(var(s) + eps) * gamma + beta
// x, f, s, y [N, D]; gamma, beta [D]; mean, rstd [N] are kept for the backward (may be null in inference). s may be the same memory as x or f.
// s.data may be null: then s is not stored (allowed only when there is no backward).
struct AddNorm {
  ConstRows x, f;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  Dropout dropout;
  float epsilon = 1e-5f;
};
void add_norm_forward(const AddNorm& in, Rows s, Rows y, float* mean, float* rstd);

//   total = (ds ? ds : 0) + d y/d s (dy)       dx += total or dx = total; df likewise with dropout applied
//   dgamma += Σ_n dy * (s - mean) * rstd;  dbeta += Σ_n dy
// s, mean, rstd as the forward left them. ds.data may be null (s itself was not used further); dx.data, df.data may be null (not wanted).
struct AddNormGradient {
  ConstRows dy, ds;
  Rows dx, df;
  bool accumulate_x = false;   // dx += instead of dx =
  bool accumulate_f = false;
  float* dgamma = nullptr;     // [D], accumulated; null: not wanted
  float* dbeta = nullptr;      // [D], accumulated; null: not wanted
};
void add_norm_backward(const AddNorm& in, ConstRows s, const float* mean, const float* rstd, const AddNormGradient& gradient);

}  // namespace jumok::kernels
