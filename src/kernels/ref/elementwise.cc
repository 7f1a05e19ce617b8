#include "kernels/ref/elementwise.h"

#include <cmath>

namespace jumok::kernels::ref {

void add(ConstRows a, ConstRows b, Rows out) {
  for (int64_t r = 0; r < out.rows; ++r) {
    for (int64_t c = 0; c < out.columns; ++c) out.row(r)[c] = a.row(r)[c] + b.row(r)[c];
  }
}

void accumulate(ConstRows a, Rows out) { ref::add(out, a, out); }

void broadcast_row(const float* bias, Rows out) {
  for (int64_t r = 0; r < out.rows; ++r) {
    for (int64_t c = 0; c < out.columns; ++c) out.row(r)[c] = bias[c];
  }
}

void accumulate_columns(ConstRows a, float* sum) {
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < a.columns; ++c) sum[c] += a.row(r)[c];
  }
}

namespace {

double activate(Activation f, double x) {
  switch (f) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

// f'(x) by the output y = f(x).
double derivative(Activation f, double y) {
  switch (f) {
    case Activation::kNone:
      return 1;
    case Activation::kRelu:
      return y > 0 ? 1 : 0;
    case Activation::kTanh:
      return 1 - y * y;
    case Activation::kSigmoid:
      return y * (1 - y);
  }
  return 1;
}

}  // namespace

void activation_forward(Activation f, ConstRows x, Rows y) {
  for (int64_t r = 0; r < y.rows; ++r) {
    for (int64_t c = 0; c < y.columns; ++c) y.row(r)[c] = static_cast<float>(activate(f, x.row(r)[c]));
  }
}

void activation_backward(Activation f, ConstRows y, ConstRows dy, Rows dx) {
  for (int64_t r = 0; r < dx.rows; ++r) {
    for (int64_t c = 0; c < dx.columns; ++c) dx.row(r)[c] = static_cast<float>(dy.row(r)[c] * derivative(f, y.row(r)[c]));
  }
}

double dropout_factor(const Dropout& dropout, int64_t row, int64_t column) {
  if (!dropout.active()) return 1;
  const uint32_t seed = dropout_row_seed(dropout.row_keys[row], dropout.site);
  const bool kept = dropout_bits(seed, static_cast<uint32_t>(column)) >= keep_threshold(dropout.rate);
  return kept ? 1.0 / (1.0 - dropout.rate) : 0;
}

void dropout(const Dropout& dropout, ConstRows x, Rows y) {
  for (int64_t r = 0; r < y.rows; ++r) {
    for (int64_t c = 0; c < y.columns; ++c) {
      const double factor = dropout_factor(dropout, r, c);  // a dropped NaN is 0, not NaN
      y.row(r)[c] = factor == 0 ? 0.0f : static_cast<float>(x.row(r)[c] * factor);
    }
  }
}

}  // namespace jumok::kernels::ref
