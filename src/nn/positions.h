// Positions as sinusoids (Vaswani 2017 §3.5).
#pragma once

#include <vector>

#include "kernels/embedding.h"

namespace jumok {

//   PE(p, 2i) = sin(p / 10000^(2i/D))      PE(p, 2i+1) = cos(p / 10000^(2i/D))
// [P, D] without gaps.
inline std::vector<float> sinusoidal_positions(int positions, int width) {
  std::vector<float> table(static_cast<size_t>(positions) * width);
  kernels::sinusoidal_positions({table.data(), positions, width, width});
  return table;
}

}  // namespace jumok
