#include "kernels/adam.h"

#include "kernels/golden.h"
#include "kernels/grid.h"
#include "kernels/ref/adam.h"

namespace jumok::kernels {
namespace {

class AdamTest : public EachTarget {};

struct State {
  std::vector<float> p, m, v, g;
  explicit State(int64_t n) : p(n), m(n), v(n), g(n) {
    Rng rng(n);
    for (int64_t i = 0; i < n; ++i) {
      p[i] = static_cast<float>(rng.normal()), m[i] = static_cast<float>(rng.normal());
      v[i] = static_cast<float>(rng.uniform()), g[i] = static_cast<float>(rng.normal());
    }
  }
  void update(const Adam& o, int64_t begin, int64_t end) {
    adam(o, end - begin, p.data() + begin, m.data() + begin, v.data() + begin, g.data() + begin);
  }
  bool operator==(const State&) const = default;
};

ConstRows row(const std::vector<float>& v) { return {v.data(), 1, static_cast<int64_t>(v.size()), static_cast<int64_t>(v.size())}; }

TEST_P(AdamTest, ThreeStepsOfPyTorch) {
  std::vector<float> p(golden::adam_start.begin(), golden::adam_start.end()), m(4), v(4);
  for (int64_t step = 1; step <= 3; ++step) {
    std::vector<float> g(golden::adam_gradients.begin() + 4 * (step - 1), golden::adam_gradients.begin() + 4 * step);
    adam({.rate = 1e-2f, .step = step, .gradient_scale = 0.5f}, 4, p.data(), m.data(), v.data(), g.data());
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(p[i], golden::adam_end[i], 1e-6);
}

// The fourth step after a restart needs both the moments and the count.
TEST_P(AdamTest, BiasCorrectionGoesOnAfterARestart) {
  float p = 0, m = 0, v = 0;
  for (const int64_t step : {1, 2, 3, 4}) {
    float g = step < 4 ? 1 : -1;
    adam({.rate = 0.1f, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f, .step = step}, 1, &p, &m, &v, &g);
  }
  EXPECT_NEAR(p, -0.3418436, 2e-6);
}

TEST_P(AdamTest, AgreesWithTheDefinition) {
  for (const int64_t n : lengths()) {
    State fast(n), slow(n);
    const Adam o{.rate = 0.01f, .step = 7, .gradient_scale = 0.25f};
    fast.update(o, 0, n);
    ref::adam(o, n, slow.p.data(), slow.m.data(), slow.v.data(), slow.g.data());
    EXPECT_TRUE(close(row(fast.m), row(slow.m), 4 * kEpsilon, 2 * kEpsilon));
    EXPECT_TRUE(close(row(fast.v), row(slow.v), 8 * kEpsilon, 0));
    // m / sqrt(v) may be hundreds where v is small; the step is a hundredth of it.
    EXPECT_TRUE(close(row(fast.p), row(slow.p), 8 * kEpsilon, 32 * kEpsilon));
  }
}

TEST_P(AdamTest, SlicesGiveEqualBits) {
  const int64_t n = 301;
  const Adam o{.rate = 0.01f, .step = 3, .gradient_scale = 0.5f};
  State whole(n);
  whole.update(o, 0, n);
  for (const int64_t slice : {1, 3, 7, 8, 16, 100, 299}) {
    State cut(n);
    for (int64_t at = 0; at < n; at += slice) cut.update(o, at, std::min(at + slice, n));
    EXPECT_TRUE(cut == whole) << "slices of " << slice;
  }
}

TEST_P(AdamTest, ZeroGradientsLeaveFreshParametersAlone) {
  std::vector<float> p(20, 1.5f), m(20), v(20), g(20);
  adam({}, 20, p.data(), m.data(), v.data(), g.data());
  EXPECT_EQ(p, std::vector<float>(20, 1.5f));  // 0 / (0 + ε), not NaN
  adam({}, 0, nullptr, nullptr, nullptr, nullptr);
}

struct Blocks {
  std::vector<std::vector<float>> data;
  std::vector<float*> pointers;
  Blocks(int count, int64_t n) : data(count, std::vector<float>(n)) {
    Rng rng(n);
    for (auto& block : data) {
      for (float& x : block) x = static_cast<float>(rng.normal());
      pointers.push_back(block.data());
    }
  }
};

TEST_P(AdamTest, LanesAreSummedAsTheWrittenTree) {
  for (int count = 1; count <= 17; ++count) {
    for (const int64_t n : {0, 1, 9, 512, 1301}) {
      Blocks fast(count, n), slow(count, n);
      const double expected = ref::sum_lanes(slow.pointers.data(), count, 0, n);
      EXPECT_NEAR(sum_lanes(fast.pointers.data(), count, 0, n), expected, 1e-12 * expected);
      EXPECT_EQ(fast.data[0], slow.data[0]) << count << " blocks of " << n;
      const Blocks untouched(count, n);
      for (int b = 1; b < count; ++b) EXPECT_EQ(fast.data[b], untouched.data[b]) << "only blocks[0] is written";
    }
  }
}

TEST_P(AdamTest, LaneSumsDoNotDependOnTheSlices) {
  const int64_t n = 1301;
  Blocks whole(8, n);
  const double squares = sum_lanes(whole.pointers.data(), 8, 0, n);
  for (const int64_t slice : {1, 7, 512, 600}) {
    Blocks cut(8, n);
    double sum = 0;
    for (int64_t at = 0; at < n; at += slice) sum += sum_lanes(cut.pointers.data(), 8, at, std::min(at + slice, n));
    EXPECT_EQ(cut.data[0], whole.data[0]);
    EXPECT_NEAR(sum, squares, 1e-12 * squares);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AdamTest, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace jumok::kernels
