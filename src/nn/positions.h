// Positions as sinusoids (Vaswani 2017 §3.5).
#pragma once

#include <mutex>
#include <vector>

#include "kernels/embedding.h"
#include "tensor/tensor.h"

namespace jumok {

//   PE(p, 2i) = sin(p / 10000^(2i/D))      PE(p, 2i+1) = cos(p / 10000^(2i/D))
// Made when it is first asked for: a model's shape costs no memory before its parameters are known to fit.
class Sinusoids {
 public:
  Sinusoids(int positions, int width) : positions_(positions), width_(width) {}
  // [P, D] without gaps. Any thread may ask.
  Tensor table() const {
    std::call_once(made_, [this] {
      values_.resize(static_cast<size_t>(positions_) * static_cast<size_t>(width_));
      kernels::sinusoidal_positions({values_.data(), positions_, width_, width_});
    });
    return {values_.data(), positions_, width_, width_};
  }

 private:
  int positions_, width_;
  mutable std::once_flag made_;
  mutable std::vector<float> values_;
};

}  // namespace jumok
