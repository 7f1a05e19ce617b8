// Parameters and Adam's moments, each one contiguous block, and the update that turns lane gradients into a step.
#pragma once

#include <cstdint>
#include <vector>

#include "base/workers.h"
#include "train/train_config.h"

namespace jumok {

// Everything an update changes. All blocks have the parameter layout's size.
struct OptimizerState {
  std::vector<float> parameters, m, v;
  int64_t updates = 0;
};

struct UpdateResult {
  double gradient_norm = 0;  // of the mean gradient per token, before clipping
  double rate = 0;           // the learning rate used
  bool skipped = false;      // the gradient was not finite: parameters, moments and count are untouched
};

struct LaneGradients {
  std::vector<std::vector<float>>& lanes;  // gradients of sums over tokens; lanes[0] is used up
  int64_t tokens = 0;                      // of all lanes
};

struct UpdateRule {
  const TrainConfig& config;
  double peak = 0;  // learning rate at the end of the warm-up
};

// Sums the lanes' gradients as a fixed binary tree, divides by the tokens, clips, and makes one step of Adam. The result depends on no
// thread count: work is cut at fixed places.
UpdateResult update_parameters(OptimizerState& state, const LaneGradients& gradients, const UpdateRule& rule, Workers& workers);

}  // namespace jumok
