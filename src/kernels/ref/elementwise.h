// The definition of the element-wise kernels: plain loops, float64 inside.
#pragma once

#include "kernels/elementwise.h"

namespace jumok::kernels::ref {

// Same arguments and meaning as the functions of kernels/elementwise.h.
void add(ConstRows a, ConstRows b, Rows out);
void accumulate(ConstRows a, Rows out);
void broadcast_row(const float* bias, Rows out);
void accumulate_columns(ConstRows a, float* sum);
void activation_forward(Activation f, ConstRows x, Rows y);
void activation_backward(Activation f, ConstRows y, ConstRows dy, Rows dx);
void dropout(const Dropout& dropout, ConstRows x, Rows y);

// What dropout multiplies element (row, column) with: 0 or 1 / (1 - rate).
double dropout_factor(const Dropout& dropout, int64_t row, int64_t column);

}  // namespace jumok::kernels::ref
