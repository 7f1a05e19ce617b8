#include "lab/bench_attention.h"

#include <gtest/gtest.h>

namespace jumok {
namespace {

TEST(BenchAttention, CountsThePairsThatPositionAllowsAndReportsEveryRule) {
  BenchAttentionOptions o;
  o.heads = 2;
  o.width = 8;
  o.lengths = {5};
  o.window = 3;
  o.cache = 70;
  o.seconds = 0.001;
  const BenchAttentionResult r = bench_attention(o);
  ASSERT_EQ(r.rates.size(), 10u);
  // Pairs of one head: all 25; the lower triangle 15; one key to each side 13; mask and bias block none by position.
  const double pairs[] = {25, 15, 13, 25, 25};
  for (size_t n = 0; n < 10; ++n) {
    EXPECT_EQ(r.rates[n].flop, pairs[n % 5] * 2 * 8 * (n < 5 ? 4 : 10)) << r.rates[n].rule;
    EXPECT_EQ(r.rates[n].backward, n >= 5);
    EXPECT_LE(r.rates[n].seconds.least, r.rates[n].seconds.median);
    EXPECT_GT(r.rates[n].fraction_of_peak, 0);
    EXPECT_LT(r.rates[n].fraction_of_peak, 1.2);
  }
  EXPECT_EQ(r.rates[0].against_full, 1);
  EXPECT_GT(r.step_bytes_per_second.median, 0);
}

}  // namespace
}  // namespace jumok
