#include "kernels/ref/softmax.h"

#include <cmath>
#include <limits>

namespace jumok::kernels::ref {

namespace {

// log Σ exp(x_c); -inf when every x_c is.
double log_sum(const float* x, int64_t n) {
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t c = 0; c < n; ++c) max = x[c] <= max ? max : x[c];  // a NaN is taken, and stays unless a number follows
  for (int64_t c = 0; c < n; ++c) sum += x[c] == -std::numeric_limits<float>::infinity() ? 0 : std::exp(x[c] - max);
  return sum == 0 ? -std::numeric_limits<double>::infinity() : max + std::log(sum);
}

}  // namespace

void softmax(ConstRows x, Rows y) {
  for (int64_t r = 0; r < y.rows; ++r) {
    const double lse = log_sum(x.row(r), y.columns);
    for (int64_t c = 0; c < y.columns; ++c) y.row(r)[c] = std::isinf(lse) ? 0.0f : static_cast<float>(std::exp(x.row(r)[c] - lse));
  }
}

void log_sum_exp(ConstRows x, float* lse) {
  for (int64_t r = 0; r < x.rows; ++r) lse[r] = static_cast<float>(log_sum(x.row(r), x.columns));
}

void cross_entropy(Rows logits, const int32_t* targets, float smoothing, bool gradient, CrossEntropySums& sums) {
  const double classes = static_cast<double>(logits.columns);
  for (int64_t r = 0; r < logits.rows; ++r) {
    float* x = logits.row(r);
    const double lse = log_sum(x, logits.columns);
    const double logit = x[targets[r]];
    double mean = 0;
    for (int64_t c = 0; c < logits.columns; ++c) mean += x[c] / classes;
    sums.nll += lse - logit;
    sums.loss += lse - (1.0 - smoothing) * logit - (smoothing > 0 ? smoothing * mean : 0.0);
    if (!gradient) continue;
    for (int64_t c = 0; c < logits.columns; ++c) {
      const double q = (c == targets[r] ? 1.0 - smoothing : 0.0) + smoothing / classes;
      x[c] = static_cast<float>(std::exp(x[c] - lse) - q);
    }
  }
}

}  // namespace jumok::kernels::ref
