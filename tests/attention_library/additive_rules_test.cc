// Masks, biases, dropout and grouped heads of the additive score: what must hold exactly, and every combination against the definition.
#include "definition.h"
#include "kernels/grid.h"

namespace jumok::attention {
namespace {

class AdditiveLaws : public kernels::EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AdditiveLaws, ::testing::ValuesIn(kernels::supported_targets()), kernels::target_name);

LibraryShape additive_shape() {
  LibraryShape s;
  s.batch = 2, s.heads = 4, s.groups = 2, s.queries = 6, s.keys = 9, s.key_width = 11, s.value_width = 5, s.additive = s.dbias = true;
  return s;
}

// Mask and bias of their own for each pair, and a case that has them.
struct PairCase {
  std::vector<uint8_t> allowed;
  std::vector<float> bias;
  LibraryCase a;

  PairCase(const LibraryShape& s, bool with_mask, bool with_bias) : a(s, 4) {
    Rng rng(9);
    const int64_t head = s.queries * s.keys;
    for (int64_t n = 0; n < s.batch * s.heads * head; ++n) {
      allowed.push_back(rng.below(3) != 0);
      bias.push_back(rng.below(4) == 0 ? -kInfinity : static_cast<float>(rng.normal()));
    }
    if (with_mask) a.p.rules.mask = {allowed.data(), s.heads * head, head, s.keys, 1};
    if (with_bias) a.p.rules.bias = {bias.data(), s.heads * head, head, s.keys, 1};
  }
};

TEST_P(AdditiveLaws, EveryCombinationOfRulesAgreesWithTheDefinition) {
  for (int options = 0; options < 64; ++options) {
    const auto on = [&](int bit) { return (options >> bit & 1) != 0; };
    LibraryShape s = additive_shape();
    s.groups = on(2) ? 2 : 4;
    if (on(4)) s.query_lengths = {6, 2}, s.key_lengths = {4, 9}, s.packed_keys = true;
    PairCase c(s, on(0), on(1));
    if (on(3)) c.a.p.dropout = {0.3f, 21};
    if (on(5)) c.a.p.rules.causal = true, c.a.p.rules.left = 3;
    SCOPED_TRACE(options);
    compare_with_definition(c.a, {.threads = 2});
  }
}

// Blocked pairs: weight and gradient of the bias exactly 0, for every query and head.
TEST_P(AdditiveLaws, BlockedPairsHaveWeightAndGradientZero) {
  PairCase c(additive_shape(), true, true);
  c.a.run();
  Block w(2, 4, 6, 9);
  c.a.weights(w.view);
  for (int64_t n = 0; n < 2 * 4 * 6 * 9; ++n) {
    const int64_t b = n / (4 * 6 * 9), h = n / (6 * 9) % 4, i = n / 9 % 6, j = n % 9;
    EXPECT_EQ(w.at(b, h, i, j) != 0, c.a.allowed(b, h, i, j)) << n;
    EXPECT_TRUE(c.a.allowed(b, h, i, j) || c.a.dbias.at(b, h, i, j) == 0) << n;
  }
}

// Dropout too: a row whose keys are all blocked gives zeros though its factors are not 0.
TEST_P(AdditiveLaws, ARowWithNothingAllowedGivesZerosWhateverStandsThere) {
  PairCase c(additive_shape(), true, true);
  c.a.p.dropout = {0.3f, 2};
  for (int64_t j = 0; j < 9; ++j) c.allowed[static_cast<size_t>(2 * 9 + j)] = 0;  // sentence 0, head 0, query 2
  for (int64_t col = 0; col < 11; ++col) c.a.q.at(0, 0, 2, col) = kNaN;
  for (int64_t col = 0; col < 5; ++col) c.a.dout.at(0, 0, 2, col) = kNaN;
  c.a.run();
  for (int64_t col = 0; col < 5; ++col) EXPECT_EQ(c.a.out.at(0, 0, 2, col), 0.0f);
  for (int64_t col = 0; col < 11; ++col) EXPECT_EQ(c.a.dq.at(0, 0, 2, col), 0.0f);
  EXPECT_EQ(c.a.lse.at(0, 0, 2, 0), -kInfinity);
  for (Block* x : {&c.a.dk, &c.a.dv, &c.a.dscore, &c.a.dbias}) x->each([](float& y) { EXPECT_TRUE(std::isfinite(y)); });
}

// Two heads of a group are two heads with a copy of the keys each: the same bits of out, lse and dq; dk and dv are the copies' sums.
TEST_P(AdditiveLaws, GroupedHeadsAreTheSameProblemWithRepeatedKeys) {
  LibraryShape s = additive_shape();
  PairCase grouped(s, true, true);
  s.groups = s.heads;
  PairCase repeated(s, true, true);
  for (PairCase* c : {&grouped, &repeated}) c->a.p.dropout = {0.3f, 5};
  for (auto [to, from] :
       {std::pair{&repeated.a.q, &grouped.a.q}, {&repeated.a.dout, &grouped.a.dout}, {&repeated.a.score, &grouped.a.score}}) {
    to->memory = from->memory;
    to->view.data = to->memory.data();
  }
  for (int64_t n = 0; n < 2 * 4 * 9; ++n) {
    const int64_t b = n / 36, h = n / 9 % 4, j = n % 9;
    std::copy_n(&grouped.a.k.at(b, h / 2, j, 0), 11, &repeated.a.k.at(b, h, j, 0));
    std::copy_n(&grouped.a.v.at(b, h / 2, j, 0), 5, &repeated.a.v.at(b, h, j, 0));
  }
  repeated.a.store();
  grouped.a.run();
  repeated.a.run();
  EXPECT_EQ(grouped.a.out.memory, repeated.a.out.memory);
  EXPECT_EQ(grouped.a.lse.memory, repeated.a.lse.memory);
  EXPECT_EQ(grouped.a.dq.memory, repeated.a.dq.memory);
  EXPECT_EQ(grouped.a.dscore.memory, repeated.a.dscore.memory);
  EXPECT_EQ(grouped.a.dbias.memory, repeated.a.dbias.memory);
  for (int64_t n = 0; n < 2 * 2 * 9; ++n) {
    const int64_t b = n / 18, g = n / 9 % 2, j = n % 9;
    const auto sum = [&](const Block& x, int64_t c) { return x.at(b, 2 * g, j, c) + x.at(b, 2 * g + 1, j, c); };
    for (int64_t c = 0; c < 11; ++c) EXPECT_NEAR(grouped.a.dk.at(b, g, j, c), sum(repeated.a.dk, c), 2e-5);
    for (int64_t c = 0; c < 5; ++c) EXPECT_NEAR(grouped.a.dv.at(b, g, j, c), sum(repeated.a.dv, c), 2e-5);
  }
}

// The gradient of a bias that broadcasts is the sum over what it broadcasts, and with `accumulate` it is added to what is there.
TEST_P(AdditiveLaws, TheGradientOfABroadcastBiasIsASum) {
  PairCase whole(additive_shape(), true, false);
  whole.a.run();
  for (int over = 1; over < 16; ++over) {
    const auto stride = [&](int bit, int64_t n) { return (over >> bit & 1) != 0 ? 0 : n; };
    const Pairs<float> strides{nullptr, stride(0, 216), stride(1, 54), stride(2, 9), stride(3, 1)};
    std::vector<double> expected(2 * 216);
    for (int64_t n = 0; n < 2 * 216; ++n) {
      const int64_t b = n / 216, h = n / 54 % 4, i = n / 9 % 6, j = n % 9;
      expected[static_cast<size_t>(b * strides.batch_stride + h * strides.head_stride + i * strides.query_stride +
                                   j * strides.key_stride)] += whole.a.dbias.at(b, h, i, j);
    }
    std::vector<float> sums(2 * 216, kNaN);
    for (bool accumulate : {false, true}) {
      PairCase c(additive_shape(), true, false);
      c.a.forward();
      Gradient g = c.a.gradient();
      g.dbias = strides;
      g.dbias.data = sums.data();
      g.accumulate = accumulate;
      c.a.backward(g, {.threads = 3});
      for (size_t n = 0; n < sums.size(); ++n) {
        // Nothing is touched but the places of pairs.
        if (std::isnan(sums[n])) {
          EXPECT_EQ(expected[n], 0) << over << " " << n;
        } else {
          EXPECT_NEAR(sums[n], (accumulate ? 2 : 1) * expected[n], 1e-4) << over << " " << n;
        }
      }
    }
  }
}

// Every gradient, and the bits of one call do not depend on how often others ran.
TEST_P(AdditiveLaws, AccumulateAddsToEveryGradient) {
  PairCase once(additive_shape(), true, true), twice(additive_shape(), true, true);
  once.a.run();
  twice.a.run();
  Gradient g = twice.a.gradient();
  g.accumulate = true;
  twice.a.backward(g, {});
  for (auto [x, y] : {std::pair{&twice.a.dq, &once.a.dq},
                      {&twice.a.dk, &once.a.dk},
                      {&twice.a.dv, &once.a.dv},
                      {&twice.a.dbias, &once.a.dbias},
                      {&twice.a.dscore, &once.a.dscore}}) {
    for (size_t n = 0; n < x->memory.size(); ++n) EXPECT_NEAR(x->memory[n], 2 * y->memory[n], 1e-4);
  }
}

TEST_P(AdditiveLaws, ThreadsChangeNoBit) {
  for (bool all_heads : {false, true}) {
    PairCase one(additive_shape(), true, true), more(additive_shape(), true, true);
    for (PairCase* c : {&one, &more}) {
      c->a.p.dropout = {0.2f, 3};
      if (!all_heads) continue;
      c->a.p.rules.bias.head_stride = 0;
      c->a.dbias.view.head_stride = 0;
    }
    one.a.run();
    more.a.run({.threads = 5});
    for (auto [x, y] : {std::pair{&one.a.out, &more.a.out},
                        {&one.a.lse, &more.a.lse},
                        {&one.a.dq, &more.a.dq},
                        {&one.a.dk, &more.a.dk},
                        {&one.a.dv, &more.a.dv},
                        {&one.a.dbias, &more.a.dbias},
                        {&one.a.dscore, &more.a.dscore}}) {
      EXPECT_EQ(0, std::memcmp(x->memory.data(), y->memory.data(), x->memory.size() * sizeof(float)));
    }
  }
}

// A sentence of a batch, its mask, bias and dropout, is the sentence alone, whatever the other one holds.
TEST_P(AdditiveLaws, OtherSentencesChangeNoBit) {
  PairCase clean(additive_shape(), true, true), dirty(additive_shape(), true, true);
  for (PairCase* c : {&clean, &dirty}) c->a.p.dropout = {0.2f, 3};
  for (Block* x : {&dirty.a.q, &dirty.a.k, &dirty.a.v, &dirty.a.dout}) {
    for (int64_t h = 0; h < x->view.heads; ++h) x->at(1, h, 3, 2) = kNaN;
  }
  for (int64_t n = 216; n < 432; ++n) dirty.bias[static_cast<size_t>(n)] = kInfinity;
  clean.a.run();
  dirty.a.run();
  for (auto [x, y] : {std::pair{&clean.a.out, &dirty.a.out},
                      {&clean.a.lse, &dirty.a.lse},
                      {&clean.a.dq, &dirty.a.dq},
                      {&clean.a.dk, &dirty.a.dk},
                      {&clean.a.dv, &dirty.a.dv},
                      {&clean.a.dbias, &dirty.a.dbias}}) {
    EXPECT_EQ(0, std::memcmp(x->memory.data(), y->memory.data(), static_cast<size_t>(x->view.batch_stride) * sizeof(float)));
  }
}

// Scores to 30, one key blocked, then all.
TEST_P(AdditiveLaws, Att12LargeScoresKeepMasksAndWeights) {
  LibraryShape s;
  s.queries = 3, s.keys = 4, s.key_width = 16, s.key_lengths = {3}, s.additive = s.dbias = true;
  LibraryCase a(s);
  a.score.each([](float& x) { x *= 5; });
  const std::vector<uint8_t> allowed = {1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
  a.p.rules.mask = {allowed.data(), 0, 0, 4, 1};
  compare_with_definition(a);
  Block w(1, 1, 3, 4);
  a.weights(w.view);
  for (size_t at : {1u, 3u, 7u, 8u, 9u, 10u, 11u}) EXPECT_EQ(w.memory[at], 0.0f);
  for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(a.out.at(0, 0, 2, c), 0.0f);
}

// The factors that are reported are those of each sentence, head and key of long rows, forward and backward.
TEST_P(AdditiveLaws, DropoutIsTheReportedFactorsInLongRows) {
  LibraryShape s = additive_shape();
  s.keys = 300, s.queries = 3;
  for (bool mask : {false, true}) {
    PairCase c(s, mask, false);
    c.a.p.dropout = {0.5f, 77};
    compare_with_definition(c.a);
  }
}

}  // namespace
}  // namespace jumok::attention
