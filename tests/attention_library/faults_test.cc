// Faults that others met, through the public header. ATT-n: the case's name. Where scores are equal, q is 0 (and k, of the additive
// score).
#include "definition.h"
#include "kernels/grid.h"

namespace jumok::attention {
namespace {

class AttentionFaults : public kernels::EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionFaults, ::testing::ValuesIn(kernels::supported_targets()), kernels::target_name);

// One sentence, one head of width 1, q = 0, values as given.
LibraryCase equal_scores(int64_t queries, const std::vector<float>& values, Type type = Type::f32, bool additive = false) {
  LibraryShape s;
  s.queries = queries;
  s.keys = static_cast<int64_t>(values.size());
  s.key_width = s.value_width = 1;
  s.type = s.query_type = type;
  s.additive = additive;
  LibraryCase a(s);
  a.q.fill(0);
  if (additive) a.k.fill(0);
  for (int64_t j = 0; j < s.keys; ++j) a.v.at(0, 0, j, 0) = values[static_cast<size_t>(j)];
  a.store();
  return a;
}
std::vector<float> weights_of(const LibraryCase& a) {
  Block w(a.shape.batch, a.shape.heads, a.pair_rows(), a.pair_columns());
  a.weights(w.view);
  return w.memory;
}
template <typename T>
Pairs<const T> for_all_heads(const std::vector<T>& values, int64_t keys) {
  return {values.data(), 0, 0, keys, 1};
}
void expect_close(const std::vector<float>& actual, const std::vector<float>& expected, double tolerance = 1e-6) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

TEST_P(AttentionFaults, Att01ARowThatAllowsNothingGivesZerosInEveryType) {
  const std::vector<uint8_t> allowed = {1, 1, 1, 0, 0, 0, 0, 0, 1};
  for (auto [type, additive] : {std::pair{Type::f32, false}, {Type::f16, false}, {Type::bf16, false}, {Type::f32, true}}) {
    LibraryCase a = equal_scores(3, {1, 2, 4}, type, additive);
    a.p.rules.mask = for_all_heads(allowed, 3);
    expect_close(outputs(a), {7 / 3.0f, 0, 4});
    expect_close(weights_of(a), {1 / 3.0f, 1 / 3.0f, 1 / 3.0f, 0, 0, 0, 0, 0, 1});
    EXPECT_EQ(a.out.at(0, 0, 1, 0), 0.0f);
    EXPECT_EQ(a.lse.at(0, 0, 1, 0), -kInfinity);
  }
}

TEST_P(AttentionFaults, Att02BlockedContentNeverReachesTheResult) {
  const std::vector<uint8_t> allowed = {1, 0};
  const std::vector<float> bias = {0, -kInfinity};
  for (auto [key, value] : {std::pair{kNaN, kNaN}, {1.0f, kInfinity}, {1e30f, 1e30f}}) {
    for (int run = 0; run < 8; ++run) {
      const int rule = run % 4;
      LibraryCase a = equal_scores(1, {3, value}, Type::f32, run >= 4);
      a.q.fill(1);
      a.k.at(0, 0, 0, 0) = 1;
      a.k.at(0, 0, 1, 0) = key;
      if (rule == 0) a.p.rules.mask = for_all_heads(allowed, 2);
      if (rule == 1) a.p.rules.bias = for_all_heads(bias, 2);
      if (rule == 2) a.p.rules.causal = true, a.p.rules.offset = 0;
      if (rule == 3) a.p.rules.right = 0, a.p.rules.offset = 0;
      a.run();
      EXPECT_EQ(a.out.at(0, 0, 0, 0), 3.0f) << rule;
      EXPECT_EQ(weights_of(a), (std::vector<float>{1, 0})) << rule;
      EXPECT_EQ(a.dq.at(0, 0, 0, 0), 0.0f);
      EXPECT_EQ(a.dk.at(0, 0, 1, 0), 0.0f);
      EXPECT_EQ(a.dv.at(0, 0, 1, 0), 0.0f);
    }
  }
}

TEST_P(AttentionFaults, Att03ABlockedSentenceHarmsNoGradientOfTheBatch) {
  for (bool additive : {false, true}) {
    LibraryShape s;
    s.batch = 2, s.heads = 2, s.groups = 2, s.queries = s.keys = 5, s.additive = additive;
    LibraryCase both(s), alone(s);
    std::vector<uint8_t> allowed(2 * 5, 1);
    std::fill(allowed.begin() + 5, allowed.end(), uint8_t{0});
    both.p.rules.mask = {allowed.data(), 5, 0, 0, 1};
    for (int64_t c = 0; c < 4; ++c) both.k.at(1, 0, 2, c) = both.v.at(1, 1, 3, c) = both.dout.at(1, 0, 1, c) = kNaN;
    both.run();
    alone.run();
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t i = 0; i < 5; ++i) {
        for (int64_t c = 0; c < 4; ++c) {
          for (auto [x, y] : {std::pair{&both.dq, &alone.dq}, {&both.dk, &alone.dk}, {&both.dv, &alone.dv}}) {
            EXPECT_EQ(x->at(0, h, i, c), y->at(0, h, i, c));
            EXPECT_EQ(x->at(1, h, i, c), 0.0f);
          }
        }
      }
    }
  }
}

TEST_P(AttentionFaults, Att04TheLowestFiniteBiasDoesNotBlockAndItsDoubleDoes) {
  const float lowest = std::numeric_limits<float>::lowest();
  const std::vector<float> bias = {0, lowest + lowest, lowest, lowest, lowest + lowest, lowest + lowest};
  for (auto [type, additive] : {std::pair{Type::f32, false}, {Type::f16, false}, {Type::f32, true}}) {
    LibraryCase a = equal_scores(3, {1, 2}, type, additive);
    a.p.rules.bias = for_all_heads(bias, 2);
    EXPECT_EQ(weights_of(a), (std::vector<float>{1, 0, 0.5f, 0.5f, 0, 0}));
    EXPECT_EQ(outputs(a), (std::vector<float>{1, 1.5f, 0}));
  }
}

TEST_P(AttentionFaults, Att05QueriesAreTheNewestPositionsUnlessAnOffsetIsGiven) {
  LibraryCase a = equal_scores(2, {1, 2, 3, 4, 5, 6});
  a.p.rules.causal = true;
  expect_close(outputs(a), {3, 3.5f});
  a.p.rules.offset = 0;
  expect_close(outputs(a), {1, 1.5f});
}

TEST_P(AttentionFaults, Att06ABooleanMaskIsTheBiasOfZeroAndMinusInfinityBitForBit) {
  const std::vector<uint8_t> allowed = {1, 0, 1, 0};
  const std::vector<float> bias = {0, -kInfinity, 0, -kInfinity};
  for (bool additive : {false, true}) {
    LibraryShape s;
    s.queries = s.keys = 4, s.key_width = 8, s.additive = additive;
    LibraryCase boolean(s), added(s);
    boolean.p.rules.mask = {allowed.data()};
    added.p.rules.bias = {bias.data()};
    boolean.run();
    added.run();
    const std::vector<float> w = weights_of(boolean);
    EXPECT_EQ(w, weights_of(added));
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(w[4 * i + 1] == 0 && w[4 * i + 3] == 0 && w[4 * i] > 0 && w[4 * i + 2] > 0);
    EXPECT_EQ(boolean.out.memory, added.out.memory);
    EXPECT_EQ(boolean.dq.memory, added.dq.memory);
    EXPECT_EQ(boolean.dk.memory, added.dk.memory);
    EXPECT_EQ(boolean.dv.memory, added.dv.memory);
  }
}

TEST_P(AttentionFaults, Att07AFloatMaskIsAdded) {
  const std::vector<float> low = {0, -1}, high = {1, 0};
  for (const auto* bias : {&low, &high}) {
    for (bool additive : {false, true}) {
      LibraryCase a = equal_scores(1, {1, 2}, Type::f32, additive);
      a.p.rules.bias = for_all_heads(*bias, 2);
      expect_close(weights_of(a), {0.731059f, 0.268941f});
    }
  }
}

TEST_P(AttentionFaults, Att08RulesStayWhenWeightsOrDropoutAreAskedFor) {
  LibraryCase a = equal_scores(3, {1, 2, 3});
  a.p.rules.causal = true;
  const std::vector<float> plain = outputs(a);
  expect_close(plain, {1, 1.5f, 2});
  expect_close(weights_of(a), {1, 0, 0, 0.5f, 0.5f, 0, 1 / 3.0f, 1 / 3.0f, 1 / 3.0f});
  a.p.dropout = {0.3f, 7};
  expect_close(weights_of(a), {1, 0, 0, 0.5f, 0.5f, 0, 1 / 3.0f, 1 / 3.0f, 1 / 3.0f});
  const std::vector<float> before = outputs(a);
  a.v.at(0, 0, 2, 0) = 1e6f;
  a.k.at(0, 0, 2, 0) = 1e6f;
  EXPECT_EQ(outputs(a)[0], before[0]);
  EXPECT_EQ(outputs(a)[1], before[1]);
}

TEST_P(AttentionFaults, Att09WeightsOfOneKeyAreOneBeforeDropoutAndTheFactorsAreReportedApart) {
  for (bool additive : {false, true}) {
    LibraryCase a = equal_scores(200, {2}, Type::f32, additive);
    const std::vector<float> whole = outputs(a);
    EXPECT_EQ(whole, std::vector<float>(200, 2.0f));
    a.p.dropout = {0.25f, 11};
    EXPECT_EQ(weights_of(a), std::vector<float>(200, 1.0f));
    Block factors(1, 1, 200, 1);
    dropout_factors(a.p, factors.view);
    const std::vector<float> out = outputs(a);
    int dropped = 0;
    for (size_t i = 0; i < 200; ++i) {
      EXPECT_TRUE(factors.memory[i] == 0 || factors.memory[i] == 1 / 0.75f);
      EXPECT_FLOAT_EQ(out[i], 2 * factors.memory[i]);
      dropped += factors.memory[i] == 0;
    }
    EXPECT_NEAR(dropped, 50, 31);  // five standard deviations
    EXPECT_EQ(outputs(a), out);
  }
}

TEST_P(AttentionFaults, Att10Att25TheScaleIsOneOverTheRootOfTheWidthOnce) {
  for (auto [width, query, expected] : {std::tuple{4, 2.0f, 0.982014f}, {9, 1.0f, 0.952574f}}) {
    LibraryShape s;
    s.queries = 1, s.keys = 2, s.key_width = width, s.value_width = 1;
    LibraryCase a(s);
    a.q.fill(query);
    for (int64_t c = 0; c < width; ++c) a.k.at(0, 0, 0, c) = 1, a.k.at(0, 0, 1, c) = 0;
    a.v.at(0, 0, 0, 0) = 1, a.v.at(0, 0, 1, 0) = 0;
    EXPECT_NEAR(outputs(a)[0], expected, 1e-6);
  }
}

// Half precision keeps mask and weights, those of f32 for the same numbers; scores to 30, one key blocked, then all.
TEST_P(AttentionFaults, Att12Att13Att24HalfPrecisionKeepsMasksAndWeights) {
  for (auto [type, tolerance] : {std::pair{Type::f16, 2e-3}, {Type::bf16, 1e-2}}) {
    LibraryShape s;
    s.queries = 3, s.keys = 4, s.key_width = 16, s.key_lengths = {3};
    LibraryCase exact(s), half(s);
    s.type = s.query_type = type;
    const std::vector<uint8_t> allowed = {1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
    for (LibraryCase* a : {&exact, &half}) {
      a->p.rules.mask = for_all_heads(allowed, 4);
      a->p.scale = 1.5f;
    }
    half.shape = s;
    half.store();
    for (auto [from, to] : {std::pair{&half.q, &exact.q}, {&half.k, &exact.k}, {&half.v, &exact.v}}) {
      std::copy(from->memory.begin(), from->memory.end(), to->memory.begin());
    }
    const std::vector<float> w = weights_of(half);
    expect_close(w, weights_of(exact), tolerance);
    for (size_t at : {1u, 3u, 7u, 8u, 9u, 10u, 11u}) EXPECT_EQ(w[at], 0.0f);
    half.run();
    for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(half.out.at(0, 0, 2, c), 0.0f);
    compare_with_definition(half);
  }
}

TEST_P(AttentionFaults, Att14Att16AWindowReachesAsFarOnBothSides) {
  for (auto [centre, expected] : {std::pair{2, 3.0f}, {0, 1.5f}, {4, 4.5f}}) {
    LibraryCase a = equal_scores(1, {1, 2, 3, 4, 5});
    a.p.rules.left = a.p.rules.right = 1;
    a.p.rules.offset = centre;
    expect_close(outputs(a), {expected});
    float sum = 0;
    const std::vector<float> w = weights_of(a);
    for (int j = 0; j < 5; ++j) {
      sum += w[static_cast<size_t>(j)];
      EXPECT_EQ(w[static_cast<size_t>(j)] != 0, std::abs(j - centre) <= 1);
    }
    EXPECT_FLOAT_EQ(sum, 1);
  }
  LibraryCase a = equal_scores(1, {1e6f, 2, 3, 4, 5, 6, 1e6f, 1e6f});
  a.p.rules.left = a.p.rules.right = 2;
  a.p.rules.offset = 3;
  expect_close(outputs(a), {4});
}

TEST_P(AttentionFaults, Att15AWindowLongerThanTheSentenceIsGlobal) {
  for (int64_t keys : {1, 3}) {
    LibraryShape s;
    s.queries = s.keys = keys;
    LibraryCase global(s), local(s);
    local.p.rules.left = local.p.rules.right = 10;
    global.run();
    local.run();
    EXPECT_EQ(local.out.memory, global.out.memory);
    EXPECT_EQ(local.dk.memory, global.dk.memory);
  }
}

TEST_P(AttentionFaults, Att17AMaskWithAHoleIsNoPrefixLengthAlsoInAStep) {
  const std::vector<uint8_t> allowed = {1, 0, 1};
  for (int64_t queries : {1, 2}) {
    for (bool additive : {false, true}) {
      LibraryCase a = equal_scores(queries, {1, 100, 3}, Type::f32, additive);
      a.p.rules.mask = {allowed.data()};
      a.p.rules.causal = queries == 1;
      expect_close(outputs(a), std::vector<float>(static_cast<size_t>(queries), 2.0f));
    }
  }
}

TEST_P(AttentionFaults, Att18Att19Att23LengthsInAPaddedBatchAreTheSentencesAlone) {
  LibraryShape s;
  s.batch = 3, s.queries = s.keys = 6, s.query_lengths = s.key_lengths = {4, 0, 2};
  LibraryCase batch(s);
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t r = batch.key_length(b); r < 6; ++r) {
      for (int64_t c = 0; c < 4; ++c) batch.k.at(b, 0, r, c) = batch.v.at(b, 0, r, c) = batch.dout.at(b, 0, r, c) = kNaN;
    }
  }
  batch.run();
  for (int64_t b = 0; b < 3; ++b) {
    LibraryShape one;
    one.queries = one.keys = batch.key_length(b);
    LibraryCase alone(one);
    for (auto [x, y] : {std::pair{&alone.q, &batch.q}, {&alone.k, &batch.k}, {&alone.v, &batch.v}, {&alone.dout, &batch.dout}}) {
      for (int64_t r = 0; r < one.queries; ++r) std::copy_n(&y->at(b, 0, r, 0), 4, &x->at(0, 0, r, 0));
    }
    alone.run();
    for (auto [x, y] : {std::pair{&alone.out, &batch.out}, {&alone.dq, &batch.dq}, {&alone.dk, &batch.dk}, {&alone.dv, &batch.dv}}) {
      for (int64_t r = 0; r < 6; ++r) {
        for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(y->at(b, 0, r, c), r < one.queries ? x->at(0, 0, r, c) : 0.0f);
      }
    }
  }
}

TEST_P(AttentionFaults, Att20LengthsAroundTheTilesUnderCausalRuleAndBias) {
  for (int64_t n : {1, 7, 63, 64, 65, 127, 128, 129, 1025}) {
    LibraryShape s;
    s.queries = s.keys = n, s.key_width = n > 1000 ? 4 : 12, s.dbias = n < 1000;
    LibraryCase a(s);
    std::vector<float> bias(static_cast<size_t>(n * n));
    Rng rng(3);
    for (float& x : bias) x = static_cast<float>(rng.normal());
    a.p.rules.bias = for_all_heads(bias, n);
    a.p.rules.causal = true;
    SCOPED_TRACE(n);
    compare_with_definition(a);
  }
}

TEST_P(AttentionFaults, Att21SingleHeadsCanBeReadAndTheirMeanIsThatOfTheHeads) {
  LibraryShape s;
  s.heads = s.groups = 2, s.queries = 1, s.keys = 2, s.key_width = 1;
  LibraryCase a(s);
  a.q.fill(1);
  a.p.scale = 1.0f;
  a.k.at(0, 0, 0, 0) = a.k.at(0, 1, 1, 0) = 200;
  a.k.at(0, 0, 1, 0) = a.k.at(0, 1, 0, 0) = -200;
  const std::vector<float> w = weights_of(a);
  EXPECT_EQ(w, (std::vector<float>{1, 0, 0, 1}));
  for (size_t j : {0u, 1u}) EXPECT_EQ((w[j] + w[2 + j]) / 2, 0.5f);
}

// One mask object for every call; nothing blocked ever shows, whichever kernel takes the rows: a step, a few rows, many.
TEST_P(AttentionFaults, Att22HugeValuesAtBlockedPlacesShowNowhere) {
  std::vector<uint8_t> allowed;
  for (int64_t j = 0; j < 130; ++j) allowed.push_back(j % 3 == 0);
  for (int64_t queries : {1, 2, 7, 70}) {
    for (int64_t groups : {1, 2}) {
      for (bool additive : {false, true}) {
        LibraryShape s;
        s.heads = 2, s.groups = groups, s.queries = queries, s.keys = 130, s.value_width = 5, s.additive = additive;
        LibraryCase a(s);
        for (int64_t j = 0; j < 130; ++j) {
          for (int64_t g = 0; g < groups; ++g) {
            for (int64_t c = 0; c < 5; ++c) a.v.at(0, g, j, c) = j % 3 == 0 ? 1.0f : 1e6f;
          }
        }
        a.p.rules.mask = {allowed.data()};
        for (float x : outputs(a)) EXPECT_NEAR(x, 1.0f, 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace jumok::attention
