// The fused kernels against their definition in float64, and the definition against finite differences.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "attention_case.h"

namespace jumok::kernels {
namespace {

class AttentionOnEachTarget : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionOnEachTarget, ::testing::ValuesIn(supported_targets()), target_name);

void compare_with_definition(const AttentionShape& shape, uint64_t seed = 1) {
  AttentionCase actual(shape, seed), expected(shape, seed);
  SCOPED_TRACE("T " + ::testing::PrintToString(shape.queries) + " S " + ::testing::PrintToString(shape.keys) + " heads " +
               std::to_string(shape.heads) + " d_k " + std::to_string(shape.key_width) + " d_v " + std::to_string(shape.value_width) +
               (shape.causal ? " causal" : "") + " rate " + std::to_string(shape.rate) + " gap " + std::to_string(shape.gap));
  actual.run();
  expected.run_definition();
  expect_agreement(actual, expected);
}

// Lengths that are no multiple of a tile, each in memory that ends with its last element.
TEST_P(AttentionOnEachTarget, LengthsAroundTheTileBordersAgreeWithTheDefinition) {
  const std::vector<int32_t> sizes = {0, 1, 7, 63, 64, 65, 127, 128, 129, 300};
  for (int32_t queries : sizes) {
    for (int32_t keys : sizes) {
      if (queries + keys > 400 && queries != keys) continue;
      for (bool causal : {false, true}) compare_with_definition({{queries}, {keys}, 1, 4, 4, causal, 0, 0, 0});
    }
  }
}

TEST_P(AttentionOnEachTarget, HeadWidthsAndStridesAgreeWithTheDefinition) {
  int heads = 0;
  for (int width : {1, 4, 8, 32, 33, 64, 100, 129}) {
    heads = heads % 4 + 1;
    for (bool causal : {false, true}) {
      compare_with_definition({{13, 70}, {13, 70}, heads, width, width, causal, 0, 5, 3});
      compare_with_definition({{9}, {66}, heads, width, 20, causal, 0, 0, 2});
      compare_with_definition({{66}, {9}, heads, 20, width, causal, 0.3f, 1, 1});
    }
  }
}

TEST_P(AttentionOnEachTarget, DropoutDropsExactlyThePairsOfItsCounter) {
  compare_with_definition({{70, 3}, {130, 5}, 3, 16, 16, false, 0.3f, 4, 1});
  compare_with_definition({{70, 130}, {70, 130}, 2, 16, 16, true, 0.3f, 4, 1});
}

// The longest length; causal, so tiles at all distances from the edge.
TEST_P(AttentionOnEachTarget, ALongSentenceAgreesWithTheDefinition) { compare_with_definition({{1025}, {1025}, 1, 4, 8, true, 0, 0, 0}); }

TEST_P(AttentionOnEachTarget, AccumulatedGradientsAddToWhatIsThere) {
  const AttentionShape shape{{5, 0, 70, 66}, {70, 4, 0, 66}, 2, 12, 20, true};
  AttentionCase once(shape), twice(shape);
  once.run();
  twice.run();
  twice.backward(true);
  for (auto [a, b] : {std::pair{&once.dq, &twice.dq}, {&once.dk, &twice.dk}, {&once.dv, &twice.dv}}) {
    for (int64_t r = 0; r < a->view().rows; ++r) {
      for (int64_t c = 0; c < a->view().columns; ++c) a->at(r, c) *= 2;
    }
    EXPECT_TRUE(agree(*b, *a, 70));
  }
}

TEST_P(AttentionOnEachTarget, RandomShapesAgreeWithTheDefinition) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const auto below = [&](uint64_t n) { return static_cast<int32_t>(rng.below(n)); };
  for (int draw = 0; draw < 60 && !HasFailure(); ++draw) {
    AttentionShape s;
    const int sentences = 1 + below(4), longest = below(8) == 0 ? 200 : 40;
    for (int b = 0; b < sentences; ++b) {
      s.queries.push_back(below(longest));
      s.keys.push_back(below(2) ? s.queries.back() : below(longest));
    }
    s.heads = 1 + below(4);
    s.key_width = 1 + below(40);
    s.value_width = 1 + below(40);
    s.causal = below(2);
    s.rate = below(2) ? 0.3f : 0.0f;
    s.gap = below(20);
    s.offset = below(4);
    compare_with_definition(s, rng.bits() >> 8);
  }
}

TEST_P(AttentionOnEachTarget, ReturnedWeightsAreTheDefinitionsAndSumToOne) {
  for (bool causal : {false, true}) {
    for (auto [queries, keys] : {std::pair{7, 5}, {65, 200}, {3, 1}, {0, 4}, {4, 0}, {130, 130}}) {
      AttentionCase a({{2, queries}, {3, keys}, 2, 10, 4, causal, 0.5f});
      const size_t count = static_cast<size_t>(queries) * keys;
      std::vector<float> weights(count, AttentionCase::kNaN), expected(count, AttentionCase::kNaN);
      attention_weights(a.attention(), 1, 1, weights.data());
      ref::attention_weights(a.attention(), 1, 1, expected.data());
      EXPECT_TRUE(close({weights.data(), queries, keys, keys}, {expected.data(), queries, keys, keys}, 1e-5, 1e-7));
      for (int i = 0; i < queries; ++i) {
        double sum = 0;
        for (int j = 0; j < keys; ++j) {
          const float w = weights[static_cast<size_t>(i) * keys + j];
          if (causal && j > keys - queries + i) {
            EXPECT_EQ(w, 0.0f);
          }
          sum += w;
        }
        const bool blocked = keys == 0 || (causal && keys - queries + i < 0);
        EXPECT_NEAR(sum, blocked ? 0 : 1, 1e-5);
      }
    }
  }
}

// ---- the definition itself ----

struct Doubles {
  explicit Doubles(int64_t n, uint64_t key) : values(static_cast<size_t>(n)) {
    Rng rng(key);
    for (double& x : values) x = rng.normal();
  }
  std::vector<double> values;
};

// loss = Σ dout ∘ out; every element of dq, dk, dv against a central difference.
void check_differences(bool causal, bool dropout, int64_t queries, int64_t keys) {
  const int64_t width = 3, value_width = 2;
  Doubles q(queries * width, 1), k(keys * width, 2), v(keys * value_width, 3), dout(queries * value_width, 4);
  std::vector<double> kept(static_cast<size_t>(queries * keys));
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = i % 3 == 1 ? 0.0 : 1.5;
  const ref::AttentionProblem in{queries,         keys,
                                 width,           value_width,
                                 q.values.data(), k.values.data(),
                                 v.values.data(), 1 / std::sqrt(3.0),
                                 causal,          dropout ? kept.data() : nullptr};
  std::vector<double> weights(static_cast<size_t>(queries * keys)), out(dout.values.size()), lse(static_cast<size_t>(queries));
  const auto loss = [&] {
    ref::attention_forward(in, {weights.data(), out.data(), lse.data()});
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += out[i] * dout.values[i];
    return sum;
  };
  std::vector<double> dq(q.values.size()), dk(k.values.size()), dv(v.values.size());
  ref::attention_backward(in, dout.values.data(), dq.data(), dk.data(), dv.data());
  for (auto [x, dx] : {std::pair{&q.values, &dq}, {&k.values, &dk}, {&v.values, &dv}}) {
    for (size_t i = 0; i < x->size(); ++i) {
      const double at = (*x)[i], step = 1e-5;
      (*x)[i] = at + step;
      const double above = loss();
      (*x)[i] = at - step;
      const double below = loss();
      (*x)[i] = at;
      EXPECT_NEAR((*dx)[i], (above - below) / (2 * step), 1e-8) << i;
    }
  }
}

TEST(AttentionDefinition, GradientsAreThoseOfFiniteDifferences) {
  for (bool causal : {false, true}) {
    for (bool dropout : {false, true}) {
      check_differences(causal, dropout, 4, 5);
      check_differences(causal, dropout, 5, 3);
      check_differences(causal, dropout, 1, 1);
    }
  }
}

}  // namespace
}  // namespace jumok::kernels
