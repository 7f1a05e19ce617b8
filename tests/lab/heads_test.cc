// Heads beside each other: their shapes and their cost.
#include "lab/heads.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "small_plan.h"

namespace jumok {
namespace {

// Two heads on two keys by hand: (1/2, 1/2) has 1 bit, (1, 0) none; their divergence is H(3/4, 1/4) - 1/2 = 0.3113 bits.
TEST(Heads, EntropyAndDivergenceByHand) {
  HeadSums sums;
  sums.add({{0.5f, 0.5f}, {1, 0}}, 2);
  const HeadShape s = sums.mean();
  EXPECT_NEAR(s.entropy, 0.5, 1e-6);
  EXPECT_NEAR(s.divergence, 0.311278, 1e-6);
  EXPECT_NEAR(s.largest, 0.75, 1e-6);
  HeadSums apart;
  apart.add({{0, 1}, {1, 0}}, 2);
  EXPECT_NEAR(apart.mean().divergence, 1, 1e-6);
  HeadSums alone;
  alone.add({{0.25f, 0.25f, 0.25f, 0.25f}}, 4);
  EXPECT_NEAR(alone.mean().entropy, 2, 1e-6);
  EXPECT_NEAR(alone.mean().possible, 2, 1e-6);
  EXPECT_EQ(alone.mean().divergence, 0);
}

TEST(Heads, TheirNumberIsNoSettingForAll) {
  HeadsOptions o;
  make_small(o);
  o.settings = {"attention.heads=2"};
  EXPECT_THROW(run_heads(o), Error);
}

TEST(Heads, AllHaveTheSameParameters) {
  HeadsOptions o;
  o.heads = {1, 4};
  make_small(o);
  const HeadsResult r = run_heads(o);
  ASSERT_EQ(r.rows.size(), 2u);
  EXPECT_EQ(r.rows[0].trained.parameters, r.rows[1].trained.parameters);
  for (const HeadsRow& row : r.rows) {
    for (const HeadShape& s : {row.shapes.encoder, row.shapes.decoder, row.shapes.source}) {
      EXPECT_GT(s.entropy, 0);
      EXPECT_LE(s.entropy, s.possible + 1e-6);
    }
  }
  EXPECT_EQ(r.rows[0].shapes.source.divergence, 0);
  EXPECT_GT(r.rows[1].shapes.source.divergence, 0);
}

}  // namespace
}  // namespace jumok
