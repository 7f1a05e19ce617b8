// One-pass loops over rows: sums, activations, dropout.
#pragma once

#include "kernels/dropout.h"
#include "kernels/rows.h"

namespace jumok::kernels {

void add(ConstRows a, ConstRows b, Rows out);                 // out = a + b; out may be a or b
void accumulate(ConstRows a, Rows out);                       // out += a
void broadcast_row(const float* bias, Rows out);              // every row of out = bias [columns]
void accumulate_columns(ConstRows a, float* sum);             // sum[c] += Σ_r a[r, c], rows in rising order

enum class Activation { kNone, kRelu, kTanh, kSigmoid };
// y = f(x), in place allowed. Tanh and sigmoid: at most 5 ulp (6.1 on a machine without FMA). NaN stays NaN.
void activation_forward(Activation f, ConstRows x, Rows y);
// dx = dy * f'(x), from the *output* y of the forward (relu: y > 0; tanh: 1 - y²; sigmoid: y(1 - y)). dx may be dy.
void activation_backward(Activation f, ConstRows y, ConstRows dy, Rows dx);

// y = dropout(x): kept elements times 1/(1-rate), dropped ones 0. Its own backward (the mask is recomputed). In place allowed.
void dropout(const Dropout& dropout, ConstRows x, Rows y);

}  // namespace jumok::kernels
