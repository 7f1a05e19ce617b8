// The learning rate, and the step from lane gradients to parameters.
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "digit_task.h"
#include "train/checkpoint.h"

namespace jumok {
namespace {

using Lanes = std::vector<std::vector<float>>;

TEST(LearningRate, IsTheInverseSquareRootOfThePaperOverEveryRestart) {  // Vaswani 2017, eq. 3 with d = 512, warm-up 4000
  const TrainConfig config;
  const double peak = peak_rate(config, 512);
  const std::pair<int64_t, double> expected[] = {{1, 1.746928e-7}, {1001, 1.748675e-4}, {4000, 6.987712e-4}, {4001, 6.986839e-4}};
  for (const auto& [update, rate] : expected) EXPECT_NEAR(learning_rate(peak, 4000, update) / rate, 1, 1e-6) << update;
}

TEST(LearningRate, AGivenRateIsThePeak) {
  TrainConfig config;
  config.rate = 0.005;
  EXPECT_EQ(peak_rate(config, 512), 0.005);
  EXPECT_DOUBLE_EQ(learning_rate(0.005, 100, 100), 0.005);
  EXPECT_DOUBLE_EQ(learning_rate(0.005, 100, 50), 0.0025);
  EXPECT_DOUBLE_EQ(learning_rate(0.005, 100, 400), 0.0025);
}

OptimizerState zero_state(size_t n) { return {std::vector<float>(n), std::vector<float>(n), std::vector<float>(n), 0}; }

// One scalar through lanes, clipping, Adam and a checkpoint. Expected value by hand: gradients of constant size give steps of the rate,
// -0.3 after three; then m = 0.9 · 0.271 - 0.1 = 0.1439, m / (1 - 0.9⁴) = 0.418436, v / (1 - 0.999⁴) = 1, so -0.3 - 0.1 · 0.418436. A count
// that starts again gives -0.3720040, lost moments give -0.2.
TEST(UpdateParameters, AfterARestartAdamGoesOnWithItsMomentsAndCount) {
  const TemporaryFolder folder;
  ParameterLayout layout;
  const Parameter scalar = layout.vector("w", 1);
  TrainConfig config;
  config.beta1 = 0.9;
  config.beta2 = 0.999;
  config.epsilon = 1e-8;
  Workers workers(2);
  OptimizerState state = zero_state(layout.size());
  const auto step = [&](float gradient) {  // of a mean over 4 tokens, in two lanes
    Lanes lanes(2, std::vector<float>(layout.size()));
    lanes[0][scalar.offset] = 1 * gradient;
    lanes[1][scalar.offset] = 3 * gradient;
    config.warm_up = static_cast<int>(state.updates + 1);  // keeps the rate at its peak
    return update_parameters(state, {lanes, 4}, {config, 0.1}, workers);
  };
  for (int i = 0; i < 3; ++i) {
    const UpdateResult result = step(1);
    EXPECT_FLOAT_EQ(result.gradient_norm, 1);
    EXPECT_FLOAT_EQ(result.rate, 0.1);
  }
  EXPECT_NEAR(state.parameters[scalar.offset], -0.3, 1e-6);
  save_checkpoint(folder / "state.safetensors", layout, state, {});
  state = {};
  Progressed progressed;
  load_checkpoint(folder / "state.safetensors", layout, state, progressed);
  EXPECT_EQ(state.updates, 3);
  step(-1);
  EXPECT_NEAR(state.parameters[scalar.offset], -0.3418436, 1e-6);
}

TEST(UpdateParameters, NoTokensNoStep) {
  Workers workers(1);
  OptimizerState state = zero_state(8);
  state.parameters[3] = 5;
  const OptimizerState before = state;
  Lanes lanes(2, std::vector<float>(8));
  const UpdateResult result = update_parameters(state, {lanes, 0}, {TrainConfig(), 0.1}, workers);
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(state.parameters, before.parameters);
  EXPECT_EQ(state.m, before.m);
  EXPECT_EQ(state.updates, 0);
}

TEST(UpdateParameters, AGradientThatIsNotFiniteIsSkippedAndNothingMovesOn) {
  Workers workers(1);
  const TrainConfig config;
  OptimizerState state = zero_state(8);
  double last_rate = 0;
  for (int i = 1; i <= 10; ++i) {
    const OptimizerState before = state;
    Lanes lanes(3, std::vector<float>(8, 0.5f));
    if (i == 2) lanes[1][4] = std::numeric_limits<float>::infinity();
    if (i == 5) lanes[2][7] = std::numeric_limits<float>::quiet_NaN();
    const UpdateResult result = update_parameters(state, {lanes, 7}, {config, 0.1}, workers);
    EXPECT_EQ(result.skipped, i == 2 || i == 5) << i;
    if (!result.skipped) {
      last_rate = result.rate;
      continue;
    }
    EXPECT_EQ(state.parameters, before.parameters);
    EXPECT_EQ(state.m, before.m);
    EXPECT_EQ(state.v, before.v);
    EXPECT_EQ(state.updates, before.updates);
  }
  EXPECT_EQ(state.updates, 8);
  EXPECT_DOUBLE_EQ(last_rate, learning_rate(0.1, config.warm_up, 8));
  for (const float p : state.parameters) EXPECT_TRUE(std::isfinite(p));
}

// g = (3, 4) · 10 / 10 tokens: norm 5, clipped to 1: (0.6, 0.8). With β1 = β2 = 0 Adam's first step is rate · g / (|g| + ε); ε = 1 shows
// |g|.
TEST(UpdateParameters, TheGradientPerTokenIsClippedByItsNorm) {
  Workers workers(1);
  TrainConfig config;
  config.beta1 = config.beta2 = 0;
  config.epsilon = 1;
  config.warm_up = 1;
  for (const double clip : {1.0, 0.0}) {
    config.clip = clip;
    OptimizerState state = zero_state(2);
    Lanes lanes = {{30, 40}};
    EXPECT_NEAR(update_parameters(state, {lanes, 10}, {config, 0.1}, workers).gradient_norm, 5, 1e-6);
    const double a = clip > 0 ? 0.6 : 3, b = clip > 0 ? 0.8 : 4;
    EXPECT_NEAR(state.parameters[0], -0.1 * a / (a + 1), 1e-6);
    EXPECT_NEAR(state.parameters[1], -0.1 * b / (b + 1), 1e-6);
  }
}

TEST(UpdateParameters, ThreadsChangeNoBitOfALongBlock) {
  const TrainConfig config;
  const size_t n = 100003;
  std::vector<float> first;
  for (const int threads : {1, 2, 3}) {
    Workers workers(threads);
    OptimizerState state = zero_state(n);
    Lanes lanes(5, std::vector<float>(n));
    for (size_t lane = 0; lane < 5; ++lane) {
      for (size_t i = 0; i < n; ++i) lanes[lane][i] = std::sin(static_cast<float>(i * 7 + lane * 13));
    }
    update_parameters(state, {lanes, 1000}, {config, 0.1}, workers);
    if (first.empty()) first = state.parameters;
    EXPECT_TRUE(state.parameters == first) << threads;
  }
}

}  // namespace
}  // namespace jumok
