#include "lab/bench_attention.h"

#include <gtest/gtest.h>

#include "lab/bench_additive.h"
#include "lab/bench_gemm.h"

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
  ASSERT_EQ(r.rates.size(), 14u);
  // Pairs of one head: all 25; the lower triangle 15; one key to each side 13; mask, one block of 64 and bias block none. 1024 sentences of
  // two heads; mixed: sentences of 1, 2, 3, 5, 6, 7 and 8 symbols in turn, until there are as many pairs: 136 rounds and 1, 2, 3, 4, 1, 1.
  const double pairs[] = {25, 15, 13, 25, 25, 25, 25};
  for (size_t n = 0; n < 14; ++n) {
    EXPECT_DOUBLE_EQ(r.rates[n].flop, pairs[n % 7] * 1024 * 2 * 8 * (n < 7 ? 4 : 10)) << r.rates[n].rule;
    EXPECT_EQ(r.rates[n].backward, n >= 7);
    EXPECT_LE(r.rates[n].seconds.least, r.rates[n].seconds.lower);
    EXPECT_LE(r.rates[n].seconds.lower, r.rates[n].seconds.median);
    EXPECT_GT(r.rates[n].fraction_of_peak, 0);
    EXPECT_LT(r.rates[n].fraction_of_peak, 1.2);
  }
  EXPECT_EQ(r.rates[0].sentences, 1024);
  EXPECT_EQ(r.rates[6].sentences, 136 * 7 + 6);
  EXPECT_EQ(r.rates[0].against_full, 1);
  EXPECT_GT(r.step_bytes_per_second.median, 0);
}

TEST(BenchAttention, ABatchHasWorkForEveryThread) {
  EXPECT_EQ(bench_sentences(16, 8, 1), 256);
  EXPECT_EQ(bench_sentences(32, 8, 1), 64);
  EXPECT_EQ(bench_sentences(64, 8, 1), 32);
  EXPECT_EQ(bench_sentences(128, 8, 1), 8);
  EXPECT_EQ(bench_sentences(4096, 8, 1), 1);
  EXPECT_EQ(bench_sentences(4096, 8, 64), 32);
  EXPECT_EQ(bench_sentences(4096, 16, 1), 1);
  EXPECT_EQ(bench_sentences(1024, 3, 1), 3);
}

// Twice the length is twice the work under a window, and four times without.
TEST(BenchAttention, AWindowCountsTheLengthTimesTheWindow) {
  BenchAttentionOptions o;
  o.heads = 1, o.width = 8, o.cache = 0, o.seconds = 0.001;
  o.lengths = {1024, 2048};
  o.rules = {"window", "causal"};
  const BenchAttentionResult r = bench_attention(o);
  ASSERT_EQ(r.rates.size(), 8u);
  EXPECT_NEAR(r.rates[4].flop / r.rates[0].flop, 2, 0.05);
  EXPECT_NEAR(r.rates[5].flop / r.rates[1].flop, 4, 0.05);
  EXPECT_EQ(r.rates[0].against_full, 0) << "the full attention was not measured";
  EXPECT_EQ(r.step_sentences, 0);
}

TEST(BenchAdditive, TheForwardAloneTakesLessThanBoth) {
  BenchAdditiveOptions o;
  o.widths = {16}, o.lengths = {20}, o.seconds = 0.01, o.threads = 2;
  const BenchAdditiveResult r = bench_additive(o);
  ASSERT_EQ(r.rates.size(), 2u);
  EXPECT_GT(r.ns_per_tanh, 0.01);
  EXPECT_LT(r.rates[0].ns_per_element, r.rates[1].ns_per_element);
  EXPECT_DOUBLE_EQ(r.rates[0].against_tanh, r.rates[0].ns_per_element / r.ns_per_tanh);
}

TEST(BenchGemm, EveryLayerHasItsThreeProductsAndAStepTwo) {
  BenchGemmOptions o;
  o.presets = {"transformer-tiny"}, o.rows = 16, o.vocabulary = 64, o.step_rows = {8}, o.seconds = 0.001, o.threads = 2;
  const BenchGemmResult r = bench_gemm(o);
  ASSERT_EQ(r.rates.size(), 6u * 3 + 2 * 2);
  EXPECT_EQ(r.rates[0].layer, "qkv");
  EXPECT_EQ(r.rates[0].columns, 3 * r.rates[0].inner);
  EXPECT_EQ(r.rates[2].product, "dw");
  EXPECT_EQ(r.rates[18].rows, 8);
  for (const GemmRate& rate : r.rates) {
    EXPECT_NEAR(rate.gflops, 2 * 2e-9 * static_cast<double>(rate.rows * rate.columns * rate.inner) / rate.seconds.median,
                1e-9 * rate.gflops + 1e-12);
    EXPECT_GT(rate.fraction_of_peak, 0);
  }
}

}  // namespace
}  // namespace jumok
