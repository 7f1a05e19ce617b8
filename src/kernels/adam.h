// The update of all parameters in one pass over contiguous blocks: sum of lanes, norm, clip, Adam (Kingma & Ba 2015, algorithm 1).
#pragma once

#include <cstdint>

namespace jumok::kernels {

// Sums `count` gradient blocks element by element as a fixed binary tree: ((0+1)+(2+3))+((4+5)+(6+7)), into blocks[0];
// the other blocks are only read. A count that is not a power of two leaves out the missing right branches.
// Works on elements [begin, end) and returns the sum of squares of the result over them (f64, fixed order).
double sum_lanes(float* const* blocks, int count, int64_t begin, int64_t end);

struct Adam {
  float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.98f, epsilon = 1e-9f;
  int64_t step = 1;            // 1 for the first update: bias correction uses beta^step
  float gradient_scale = 1;    // 1/tokens × clip factor, applied to the gradient first
};
//   g = scale·gradient;  m = β1 m + (1-β1) g;  v = β2 v + (1-β2) g²;  p -= rate · (m / (1-β1^t)) / (sqrt(v / (1-β2^t)) + ε)
// over [0, n).
void adam(const Adam& options, int64_t n, float* parameters, float* m, float* v, const float* gradient);

}  // namespace jumok::kernels
