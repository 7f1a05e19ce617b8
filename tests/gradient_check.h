// The finite-difference checker of ops, layers and whole models.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/rng.h"

namespace jumok {

// Central differences of `loss` along random directions through the numbers of `values`, against `gradient` (d loss / d values).
//   (L(x + εu) - L(x - εu)) / 2ε  =  g·u
// u is a random unit vector over [begin, end). L is summed in f64 over f32 results, so ε balances rounding against curvature; the tolerance
// is relative to |g||u|, which bounds g·u, and to the rounding of L (a gradient that is zero by symmetry, of a key's bias, shows nothing
// but that).
inline void expect_directional_gradient(std::vector<float>& values, const std::vector<float>& gradient, int64_t begin, int64_t end,
                                        const std::function<double()>& loss, double epsilon, double tolerance, uint64_t seed) {
  const int64_t n = end - begin;
  const std::vector<float> original = values;
  double norm = 0;
  for (int64_t i = begin; i < end; ++i) norm += static_cast<double>(gradient[i]) * gradient[i];
  norm = std::sqrt(norm);
  for (int trial = 0; trial < 3; ++trial) {
    Rng rng(hash_words(seed, trial));
    std::vector<double> u(n);
    double length = 0;
    for (auto& x : u) {
      x = rng.normal();
      length += x * x;
    }
    // Half random, half along the gradient: a random direction alone is nearly orthogonal to it and would test little.
    double expected = 0;
    std::vector<double> step(n);
    for (int64_t i = 0; i < n; ++i) {
      const double along = norm > 0 ? gradient[begin + i] / norm : 0;
      step[i] = 0.5 * u[i] / std::sqrt(length) + 0.5 * along;
    }
    const auto at = [&](double e) {
      for (int64_t i = 0; i < n; ++i) values[begin + i] = static_cast<float>(original[begin + i] + e * step[i]);
      return loss();
    };
    const double high = at(epsilon);
    std::vector<double> moved(n);
    for (int64_t i = 0; i < n; ++i) moved[i] = values[begin + i];
    const double low = at(-epsilon);
    for (int64_t i = 0; i < n; ++i) expected += gradient[begin + i] * (moved[i] - values[begin + i]);  // the step that f32 really made
    values = original;
    ASSERT_NEAR(high - low, expected, tolerance * (2 * epsilon * norm) + 1e-7 * std::abs(high))
        << "elements " << begin << " to " << end << ", trial " << trial;
  }
}

}  // namespace jumok
