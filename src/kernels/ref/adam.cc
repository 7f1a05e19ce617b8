#include "kernels/ref/adam.h"

#include <cmath>
#include <vector>

namespace jumok::kernels::ref {

double sum_lanes(float* const* blocks, int count, int64_t begin, int64_t end) {
  double squares = 0;
  std::vector<float> level(static_cast<size_t>(count));
  for (int64_t i = begin; i < end; ++i) {
    for (int b = 0; b < count; ++b) level[b] = blocks[b][i];
    for (int step = 1; step < count; step *= 2) {
      for (int b = 0; b + step < count; b += 2 * step) level[b] += level[b + step];
    }
    blocks[0][i] = level[0];
    squares += static_cast<double>(level[0]) * level[0];
  }
  return squares;
}

void adam(const Adam& o, int64_t n, float* parameters, float* m, float* v, const float* gradient) {
  const double correct1 = 1 - std::pow(static_cast<double>(o.beta1), static_cast<double>(o.step));
  const double correct2 = 1 - std::pow(static_cast<double>(o.beta2), static_cast<double>(o.step));
  for (int64_t i = 0; i < n; ++i) {
    const double g = static_cast<double>(o.gradient_scale) * gradient[i];
    const double first = o.beta1 * static_cast<double>(m[i]) + (1.0 - o.beta1) * g;
    const double second = o.beta2 * static_cast<double>(v[i]) + (1.0 - o.beta2) * g * g;
    m[i] = static_cast<float>(first);
    v[i] = static_cast<float>(second);
    parameters[i] -= static_cast<float>(o.rate * (first / correct1) / (std::sqrt(second / correct2) + o.epsilon));
  }
}

}  // namespace jumok::kernels::ref
