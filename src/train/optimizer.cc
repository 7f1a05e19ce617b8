#include "train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "kernels/adam.h"

namespace jumok {
namespace {

constexpr int64_t kSlice = 1 << 15;  // floats: nine blocks' slices fit a second-level cache of 1.2 MB

int slices(int64_t n) { return static_cast<int>((n + kSlice - 1) / kSlice); }

// Sum of the lanes into lanes[0]; gives the sum of squares.
double sum_of_lanes(std::vector<std::vector<float>>& lanes, Workers& workers) {
  std::vector<float*> blocks;
  for (auto& lane : lanes) blocks.push_back(lane.data());
  const int64_t n = static_cast<int64_t>(lanes[0].size());
  std::vector<double> squares(slices(n));
  workers.run(slices(n), [&](int i, int) {
    squares[i] = kernels::sum_lanes(blocks.data(), static_cast<int>(blocks.size()), i * kSlice, std::min(n, (i + 1) * kSlice));
  });
  double total = 0;
  for (const double s : squares) total += s;
  return total;
}

}  // namespace

UpdateResult update_parameters(OptimizerState& state, const LaneGradients& gradients, const UpdateRule& rule, Workers& workers) {
  auto& [lanes, tokens] = gradients;
  const TrainConfig& config = rule.config;
  UpdateResult result;
  if (tokens == 0) {
    result.skipped = true;
    return result;
  }
  result.gradient_norm = std::sqrt(sum_of_lanes(lanes, workers)) / static_cast<double>(tokens);
  if (!std::isfinite(result.gradient_norm)) {
    result.skipped = true;
    return result;
  }
  const double clip = config.clip > 0 && result.gradient_norm > config.clip ? config.clip / result.gradient_norm : 1;
  ++state.updates;
  result.rate = learning_rate(rule.peak, config.warm_up, state.updates);
  kernels::Adam adam;
  adam.rate = static_cast<float>(result.rate);
  adam.beta1 = static_cast<float>(config.beta1);
  adam.beta2 = static_cast<float>(config.beta2);
  adam.epsilon = static_cast<float>(config.epsilon);
  adam.step = state.updates;
  adam.gradient_scale = static_cast<float>(clip / static_cast<double>(tokens));
  const int64_t n = static_cast<int64_t>(state.parameters.size());
  workers.run(slices(n), [&](int i, int) {
    const int64_t begin = i * kSlice, count = std::min(n, begin + kSlice) - begin;
    kernels::adam(adam, count, state.parameters.data() + begin, state.m.data() + begin, state.v.data() + begin, lanes[0].data() + begin);
  });
  return result;
}

}  // namespace jumok
