// NaN and infinities through the public header: they show in what may attend to them, and in nothing else.
#include <hwy/targets.h>

#include "definition.h"
#include "kernels/grid.h"

namespace jumok::attention {
namespace {

class AttentionPoison : public kernels::EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionPoison, ::testing::ValuesIn(kernels::supported_targets()), kernels::target_name);

// A third of the pairs blocked by a mask or by the bias, or a window.
struct BlockedPairs {
  std::vector<uint8_t> allowed;
  std::vector<float> bias;
  BlockedPairs(Rules& r, const LibraryShape& s, int rule) {
    Rng rng(3);
    for (int64_t n = 0; n < s.queries * s.keys; ++n) {
      allowed.push_back(rng.below(3) != 0);
      bias.push_back(allowed.back() ? static_cast<float>(rng.normal()) : -kInfinity);
    }
    if (rule == 0) r.mask = {allowed.data(), 0, 0, s.keys, 1};
    if (rule == 1) r.bias = {bias.data(), 0, 0, s.keys, 1};
    if (rule == 2) r.left = 9, r.right = 3;
  }
};

LibraryShape blocked_shape() {
  LibraryShape s;
  s.queries = 70, s.keys = 80, s.key_width = 5, s.value_width = 9, s.dbias = true;
  return s;
}

// With a gradient from above that is finite: the row's log-sum-exp is NaN, and exp(-inf - NaN) would be too.
TEST_P(AttentionPoison, ABrokenQueryGivesNothingToKeysItMayNotSee) {
  for (int rule = 0; rule < 3; ++rule) {
    for (float rate : {0.0f, 0.3f}) {
      LibraryCase a(blocked_shape());
      const BlockedPairs pairs(a.p.rules, a.shape, rule);
      a.p.dropout.rate = rate;
      a.q.at(0, 0, 11, 2) = kNaN;
      SCOPED_TRACE(rule);
      compare_with_definition(a);
      int64_t whole = 0;
      for (int64_t j = 0; j < a.shape.keys; ++j) whole += !a.allowed(0, 0, 11, j) && std::isfinite(a.dv.at(0, 0, j, 0));
      EXPECT_GT(whole, 10);
    }
  }
}

TEST_P(AttentionPoison, ABrokenKeyTakesNothingFromQueriesOrKeysThatDoNotMeetIt) {
  for (int rule = 0; rule < 3; ++rule) {
    for (float poison : {kNaN, kInfinity}) {
      LibraryCase a(blocked_shape());
      const BlockedPairs pairs(a.p.rules, a.shape, rule);
      // An infinite score on top of finite ones, also where the broken row is the only one.
      a.q.each([](float& x) { x = std::abs(x) + 0.1f; });
      a.k.at(0, 0, 20, 2) = poison;
      SCOPED_TRACE(rule);
      compare_with_definition(a);
    }
  }
}

TEST_P(AttentionPoison, WeightsOfBlockedPairsAreZeroBesideAnAllowedNaN) {
  const std::vector<uint8_t> allowed = {1, 0, 1, 0};
  for (float poison : {kNaN, kInfinity}) {
    LibraryShape s;
    s.queries = 1, s.key_width = 1;
    LibraryCase a(s);
    a.q.fill(1), a.k.fill(1);
    a.k.at(0, 0, 2, 0) = poison;
    a.p.rules.mask = {allowed.data()};
    Block w(1, 1, 1, 4), e(1, 1, 1, 4);
    a.weights(w.view);
    for (int64_t j : {1, 3}) EXPECT_EQ(w.at(0, 0, 0, j), 0.0f) << j;
    for (int64_t j : {0, 2}) EXPECT_TRUE(std::isnan(w.at(0, 0, 0, j))) << j;
    scores(a.p, e.view);
    for (int64_t j : {1, 3}) EXPECT_EQ(e.at(0, 0, 0, j), -kInfinity) << j;
  }
}

// Every number of 16 bits is the same on every target: out of one key is its value.
TEST_P(AttentionPoison, SixteenBitNumbersAreReadTheSameOnEveryTarget) {
  for (Type type : {Type::f16, Type::bf16}) {
    LibraryShape s;
    s.queries = s.keys = 1, s.key_width = 1, s.value_width = 1 << 16, s.type = type;
    LibraryCase a(s);
    for (size_t bits = 0; bits < a.v.halves.size(); ++bits) a.v.halves[bits] = static_cast<uint16_t>(bits);
    a.forward();
    for (size_t bits = 0; bits < a.v.halves.size(); ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      const float expected = type == Type::f16 ? f16_to_f32(half) : bf16_to_f32(half), found = a.out.memory[bits];
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(found) : found == expected) << bits << ": " << found << ", expected " << expected;
    }
  }
}

// Keys, values, queries and gradients past a length may be anything, in every type and for both scores.
TEST_P(AttentionPoison, WhatStandsPastALengthMayBeAnything) {
  for (auto [type, additive] : {std::pair{Type::f32, false}, {Type::f16, false}, {Type::bf16, false}, {Type::f32, true}}) {
    LibraryShape s;
    s.batch = 3, s.heads = 2, s.queries = 70, s.keys = 75, s.query_lengths = {70, 0, 5}, s.key_lengths = {66, 75, 0};
    s.type = s.query_type = type;
    s.additive = additive;
    LibraryCase a(s);
    for (int64_t b = 0; b < 3; ++b) {
      for (Block* x : {&a.q, &a.dout, &a.k, &a.v}) {
        for (int64_t r = x->view.rows == 70 ? a.query_length(b) : a.key_length(b); r < x->view.rows; ++r) {
          for (int64_t h = 0; h < x->view.heads; ++h) std::fill_n(&x->at(b, h, r, 0), x->view.columns, kNaN);
        }
      }
    }
    a.store();
    compare_with_definition(a);
    a.out.each([](float& x) { EXPECT_TRUE(std::isfinite(x)); });
  }
}

}  // namespace
}  // namespace jumok::attention
