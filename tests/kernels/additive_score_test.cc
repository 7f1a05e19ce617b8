// What the tanh of the additive score is for (Bahdanau 2015, A.1.2; Luong 2015 §3.1 "concat").
//   softmax_j(u·(q_i + k_j)) = softmax_j(u·k_j)
// A softmax forgets what all its scores have in common: without the tanh no query has a say in its weights, and no gradient reaches it.
#include <gtest/gtest.h>

#include "row_attention_case.h"

namespace jumok::kernels {
namespace {

constexpr int32_t kQueries = 5, kKeys = 7;
constexpr int kHeads = 2, kWidth = 9;

class AdditiveScore : public EachTarget {
 protected:
  // The same queries, keys and u: as they are, and as scores without the tanh.
  RowCase with_tanh_{{{kQueries}, {kKeys}, RowScore::kAdditive, kHeads, kWidth, 3}};
  RowCase plain_{{{kQueries}, {kKeys}, RowScore::kGiven, kHeads, kKeys, 3}};

  void SetUp() override {
    EachTarget::SetUp();
    for (int head = 0; head < kHeads; ++head) {
      for (int32_t i = 1; i <= kQueries; ++i) {
        for (int32_t j = 1; j <= kKeys; ++j) {
          plain_.q.at(i, head * kKeys + j - 1) = static_cast<float>(dot_u(with_tanh_.q, i, head) + dot_u(with_tanh_.k, j, head));
        }
      }
    }
  }
  double dot_u(Matrix& m, int64_t row, int head) {
    double sum = 0;
    for (int64_t c = int64_t{head} * kWidth; c < int64_t{head + 1} * kWidth; ++c) sum += double{with_tanh_.u.at(0, c)} * m.at(row, c);
    return sum;
  }
  static std::vector<float> weights(RowCase& a, int head, bool by_definition) {
    if (!by_definition) return a.weights(0, head);
    std::vector<float> w(static_cast<size_t>(kQueries * kKeys));
    ref::row_attention_weights(a.attention(), 0, head, w.data());
    return w;
  }
};
INSTANTIATE_TEST_SUITE_P(Targets, AdditiveScore, ::testing::ValuesIn(supported_targets()), target_name);

TEST_P(AdditiveScore, WithoutItsTanhTheWeightsAreThoseOfTheKeysAlone) {
  for (const bool by_definition : {false, true}) {
    for (int head = 0; head < kHeads; ++head) {
      const std::vector<float> w = weights(plain_, head, by_definition);
      double sum = 0;
      for (int32_t j = 1; j <= kKeys; ++j) sum += std::exp(dot_u(with_tanh_.k, j, head));
      for (int32_t n = 0; n < kQueries * kKeys; ++n) {
        EXPECT_NEAR(w[static_cast<size_t>(n)], std::exp(dot_u(with_tanh_.k, 1 + n % kKeys, head)) / sum, 1e-5) << n;
      }
    }
  }
}

TEST_P(AdditiveScore, WithItsTanhEveryQueryHasItsOwnWeights) {
  for (const bool by_definition : {false, true}) {
    for (int head = 0; head < kHeads; ++head) {
      const std::vector<float> w = weights(with_tanh_, head, by_definition);
      for (int32_t i = 0; i < kQueries; ++i) {
        double differs = 0;  // from those of the other queries
        for (int32_t n = 0; n < kQueries * kKeys; ++n) {
          differs = std::max(differs, std::abs(double{w[static_cast<size_t>(n)]} - w[static_cast<size_t>(i * kKeys + n % kKeys)]));
        }
        EXPECT_GT(differs, 0.05) << "query " << i;
      }
    }
  }
}

// ∂loss/∂(u·q_i) is the sum of ∂loss/∂e_ij over j.
TEST_P(AdditiveScore, WithoutItsTanhNoGradientReachesTheQuery) {
  plain_.run();
  with_tanh_.run();
  for (int32_t i = 1; i <= kQueries; ++i) {
    for (int head = 0; head < kHeads; ++head) {
      double common = 0, passed = 0;
      for (int64_t j = int64_t{head} * kKeys; j < int64_t{head + 1} * kKeys; ++j) {
        common += plain_.dq.at(i, j);
        passed += std::abs(plain_.dq.at(i, j));
      }
      EXPECT_GT(passed, 0);
      EXPECT_NEAR(common, 0, 1e-5 * passed);
      EXPECT_GT(std::abs(with_tanh_.dq.at(i, head * kWidth)), 1e-4);
    }
  }
}

// Where |q + k| is tiny, the query hardly matters.
TEST_P(AdditiveScore, InTheLinearRangeItIgnoresTheQuery) {
  RowCase a({{2}, {5}, RowScore::kAdditive, 1, 8, 1});
  for (int64_t c = 0; c < 8; ++c) {
    for (int64_t i = 1; i <= 2; ++i) a.q.at(i, c) *= 1e-3f;
    for (int64_t j = 1; j <= 5; ++j) a.k.at(j, c) *= 1e-3f;
    a.u.at(0, c) *= 1e3f;
  }
  const std::vector<float> weights = a.weights(0, 0);
  for (size_t j = 0; j < 5; ++j) EXPECT_NEAR(weights[j], weights[5 + j], 1e-3);
  EXPECT_GT(*std::max_element(weights.begin(), weights.end()), 0.3f);  // the keys do matter
}

}  // namespace
}  // namespace jumok::kernels
