#include "kernels/softmax.h"

#include "kernels/golden.h"
#include "kernels/grid.h"
#include "kernels/ref/softmax.h"

namespace jumok::kernels {
namespace {

class SoftmaxTest : public EachTarget {};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_P(SoftmaxTest, ValuesOfPyTorch) {
  Matrix x = matrix_of(golden::softmax_x, 7), y(3, 7, 0, 3);
  softmax(x.view(), y.view());
  EXPECT_TRUE(close(y.view(), matrix_of(golden::softmax_y, 7).view(), 1e-6, 0));
  float lse[3];
  log_sum_exp(x.view(), lse);
  for (int r = 0; r < 3; ++r) EXPECT_NEAR(lse[r], golden::softmax_lse[r], 1e-6);
}

TEST_P(SoftmaxTest, AgreesWithTheDefinition) {
  for (const int64_t n : lengths()) {
    for (int64_t offset = 0; offset < 4; ++offset) {
      Matrix x(3, n, 2, offset), y(3, n, 1, 1), expected(3, n, 0, 0);
      x.fill_normal(n + 1, 5);
      float lse[3], expected_lse[3];
      ref::softmax(x.view(), expected.view());
      ref::log_sum_exp(x.view(), expected_lse);
      softmax(x.view(), y.view());
      log_sum_exp(x.view(), lse);
      // x - max carries half an ulp of up to 40, which exp turns into a relative error.
      EXPECT_TRUE(close(y.view(), expected.view(), 40 * kEpsilon, 1e-30));
      EXPECT_TRUE(close({lse, 1, 3, 3}, {expected_lse, 1, 3, 3}, 4 * kEpsilon, 4 * kEpsilon));
      softmax(x.view(), x.view());
      EXPECT_TRUE(same_bits(x.view(), y.view())) << "in place";
      EXPECT_TRUE(x.gaps_untouched() && y.gaps_untouched());
    }
  }
}

TEST_P(SoftmaxTest, NothingAllowedGivesZeros) {
  for (const int64_t n : {1, 5, 16, 40}) {
    Matrix x(1, n, 0, 1), y(1, n, 0, 0);
    x.fill(-kInfinity);
    softmax(x.view(), y.view());
    for (int64_t c = 0; c < n; ++c) EXPECT_EQ(y.at(0, c), 0);
    float lse;
    log_sum_exp(x.view(), &lse);
    EXPECT_EQ(lse, -kInfinity);
    x.at(0, n - 1) = -3e38f;  // one entry allowed, however small
    softmax(x.view(), y.view());
    EXPECT_EQ(y.at(0, n - 1), 1);
    for (int64_t c = 0; c + 1 < n; ++c) EXPECT_EQ(y.at(0, c), 0);
  }
}

// A NaN anywhere, or +inf, makes the whole row NaN: it must not be hidden by a comparison.
TEST_P(SoftmaxTest, NanAndInfinityShow) {
  for (const float bad : {std::nanf(""), kInfinity}) {
    for (const float others : {1.0f, -kInfinity}) {
      for (int64_t at = 0; at < 40; ++at) {
        Matrix x(1, 40, 0, 0), y(1, 40, 0, 0);
        x.fill(others).at(0, at) = bad;
        softmax(x.view(), y.view());
        for (int64_t c = 0; c < 40; ++c) EXPECT_TRUE(std::isnan(y.at(0, c))) << bad << " at " << at;
        float lse;
        log_sum_exp(x.view(), &lse);
        EXPECT_TRUE(std::isnan(lse));
      }
    }
  }
}

TEST_P(SoftmaxTest, ARowDoesNotDependOnTheOthers) {
  Matrix x(5, 67, 1, 1), y(5, 67, 0, 0), alone(1, 67, 0, 2);
  x.fill_normal(1, 3);
  softmax(x.view(), y.view());
  for (int64_t r = 0; r < 5; ++r) {
    softmax({x.view().row(r), 1, 67, 67}, alone.view());
    EXPECT_TRUE(same_bits(alone.view(), {y.view().row(r), 1, 67, 67}));
  }
}

TEST_P(SoftmaxTest, CrossEntropyOfPyTorch) {
  const int32_t targets[] = {0, 6, 3};
  CrossEntropySums plain, smooth;
  Matrix x = matrix_of(golden::softmax_x, 7), again = matrix_of(golden::softmax_x, 7);
  cross_entropy(x.view(), targets, 0, true, plain);
  EXPECT_NEAR(plain.loss, golden::entropy_plain_loss[0], 2e-6);
  EXPECT_NEAR(plain.nll, golden::entropy_plain_loss[0], 2e-6);
  EXPECT_TRUE(close(x.view(), matrix_of(golden::entropy_plain_gradient, 7).view(), 1e-6, 1e-6));
  cross_entropy(again.view(), targets, 0.1f, true, smooth);
  EXPECT_NEAR(smooth.loss, golden::entropy_smooth_loss[0], 2e-6);
  EXPECT_NEAR(smooth.nll, golden::entropy_plain_loss[0], 2e-6);
  EXPECT_TRUE(close(again.view(), matrix_of(golden::entropy_smooth_gradient, 7).view(), 1e-6, 1e-6));
}

// Label smoothing spreads over the classes of real positions only: padding is not in the rows at all.
TEST_P(SoftmaxTest, SmoothedLossOfUniformLogitsIsLogOfClasses) {
  const int32_t targets[] = {2, 3};
  for (const float smoothing : {0.1f, 0.2f}) {
    Matrix logits(2, 5, 0, 1);
    CrossEntropySums sums;
    cross_entropy(logits.fill(7).view(), targets, smoothing, true, sums);
    EXPECT_NEAR(sums.loss, 3.218876, 1e-6);
    EXPECT_NEAR(sums.loss / 2, 1.609438, 1e-6);
    EXPECT_NEAR(logits.at(0, 0), 0.2 - smoothing / 5, 1e-7);
    EXPECT_NEAR(logits.at(0, 2), 0.2 - smoothing / 5 - (1 - smoothing), 1e-7);
  }
}

TEST_P(SoftmaxTest, NoTargetsNoLoss) {
  Matrix none(0, 5, 0, 0);
  CrossEntropySums sums{.loss = 4, .nll = 3};
  cross_entropy(none.view(), nullptr, 0.1f, true, sums);
  EXPECT_EQ(sums.loss, 4);
  EXPECT_EQ(sums.nll, 3);
}

TEST_P(SoftmaxTest, CrossEntropyAgreesWithTheDefinition) {
  for (const int64_t n : {1, 2, 15, 16, 17, 33, 64, 131, 8000}) {
    for (const float smoothing : {0.0f, 0.1f}) {
      Matrix x(4, n, n % 3, n % 4), expected(4, n, 0, 0);
      x.fill_normal(n, 4), expected.fill_normal(n, 4);
      const int32_t last = static_cast<int32_t>(n - 1), targets[] = {0, last, last / 2, 0};
      CrossEntropySums sums, value_only, expected_sums;
      ref::cross_entropy(expected.view(), targets, smoothing, true, expected_sums);
      cross_entropy(x.view(), targets, smoothing, false, value_only);
      cross_entropy(x.view(), targets, smoothing, true, sums);
      EXPECT_NEAR(sums.loss, expected_sums.loss, 1e-5);
      EXPECT_NEAR(sums.nll, expected_sums.nll, 1e-5);
      EXPECT_EQ(value_only.loss, sums.loss);
      EXPECT_TRUE(close(x.view(), expected.view(), 50 * kEpsilon, 2 * kEpsilon));
      EXPECT_TRUE(x.gaps_untouched());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SoftmaxTest, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace jumok::kernels
