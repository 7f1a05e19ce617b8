#include "lab/timing.h"

#include <gtest/gtest.h>

namespace jumok {
namespace {

TEST(Timing, ASpreadHoldsMedianQuartilesAndExtremes) {
  const Spread s = spread_of({5, 1, 4, 2, 3});
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.lower, 2);
  EXPECT_EQ(s.upper, 4);
  EXPECT_EQ(s.least, 1);
  EXPECT_EQ(s.most, 5);
  EXPECT_EQ(s.runs, 5);
  const Spread one = spread_of({7});
  EXPECT_EQ(one.lower, 7);
  EXPECT_EQ(one.upper, 7);
}

TEST(Timing, ARateTurnsTheSpreadAround) {
  const Spread r = rate_spread(12, spread_of({4, 1, 2, 3, 6}));
  EXPECT_EQ(r.median, 4);
  EXPECT_EQ(r.least, 2);
  EXPECT_EQ(r.lower, 3);
  EXPECT_EQ(r.upper, 6);
  EXPECT_EQ(r.most, 12);
}

TEST(Timing, WarmUpIsNotMeasuredAndPiecesTakeTurns) {
  std::string calls;
  const auto spreads = time_in_turn({.seconds = 0, .rounds = 3, .warm_up = 2}, {[&] { calls += 'a'; }, [&] { calls += 'b'; }});
  EXPECT_EQ(calls, "aabbababab");
  EXPECT_EQ(spreads[1].runs, 3);
}

}  // namespace
}  // namespace jumok
