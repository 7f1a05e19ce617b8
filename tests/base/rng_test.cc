#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace jumok {
namespace {

TEST(Rng, MixIsSplitMix64) {
  // The published outputs of the SplitMix64 generator for the seeds 0 and 1234567: output i is mix64(seed + i · golden ratio).
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;
  EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafull);
  EXPECT_EQ(mix64(kGolden), 0x6e789e6aa1b965f4ull);
  EXPECT_EQ(mix64(2 * kGolden), 0x06c45d188009454full);
  EXPECT_EQ(mix64(1234567), 6457827717110365317ull);
  EXPECT_EQ(mix64(1234567 + kGolden), 3203168211198807973ull);
}

TEST(Rng, EveryInputBitReachesAboutHalfTheOutputBits) {
  for (int bit = 0; bit < 64; ++bit) {
    int flipped = 0;
    for (uint64_t x = 0; x < 1000; ++x) flipped += std::popcount(mix64(x * 977) ^ mix64((x * 977) ^ (uint64_t{1} << bit)));
    EXPECT_NEAR(flipped / 1000.0, 32.0, 1.0) << bit;  // σ of the mean: 4/√1000 = 0.13
  }
}

TEST(Rng, KeysOfSeveralWordsDependOnOrderAndEachWord) {
  std::set<uint64_t> keys;
  for (uint64_t a = 0; a < 20; ++a) {
    for (uint64_t b = 0; b < 20; ++b) {
      for (int c = -5; c < 5; ++c) keys.insert(hash_words(a, b, c));
    }
  }
  EXPECT_EQ(keys.size(), 4000u);
  EXPECT_NE(hash_words(1, 2), hash_words(2, 1));
  EXPECT_NE(hash_words(1), hash_words(1, 0));
}

TEST(Rng, StateIsKeyAndCounterSoAStreamCanBeTakenUpAnywhere) {
  Rng whole(42);
  std::vector<uint64_t> bits;
  for (int i = 0; i < 10; ++i) bits.push_back(whole.bits());
  Rng resumed(42, 6);
  for (int i = 6; i < 10; ++i) EXPECT_EQ(resumed.bits(), bits[i]);
  EXPECT_EQ(resumed.counter(), whole.counter());
}

TEST(Rng, UniformAndNormalHaveTheirMoments) {
  Rng rng(3);
  constexpr int kDraws = 200'000;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, normal_fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = rng.uniform(), z = rng.normal();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ASSERT_TRUE(std::isfinite(z));
    sum += u, squares += u * u;
    normal_sum += z, normal_squares += z * z, normal_fourth += z * z * z * z;
  }
  // Five standard errors of each mean.
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * 0.2887 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5 * 0.2981 / std::sqrt(kDraws));
  EXPECT_NEAR(normal_sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(normal_squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(normal_fourth / kDraws, 3, 5 * std::sqrt(96.0 / kDraws));
}

TEST(Rng, BelowIsEvenAndStaysBelow) {
  Rng rng(5);
  std::array<int, 7> count{};
  for (int i = 0; i < 70'000; ++i) ++count.at(rng.below(7));
  double chi = 0;
  for (const int c : count) chi += (c - 10'000.0) * (c - 10'000.0) / 10'000.0;
  EXPECT_LT(chi, 22.5);  // 6 degrees of freedom: p = 0.001
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rng.below(1), 0u);
  for (int i = 0; i < 100; ++i) ASSERT_LT(rng.below(~uint64_t{0}), ~uint64_t{0});
}

TEST(Rng, NeighbouringStreamsAreUncorrelated) {
  Rng a(1000), b(1001);
  double product = 0;
  for (int i = 0; i < 50'000; ++i) product += (a.uniform() - 0.5) * (b.uniform() - 0.5);
  EXPECT_NEAR(product / 50'000 * 12, 0, 5 / std::sqrt(50'000));
}

TEST(Rng, ShuffleReachesEveryOrderEquallyOften) {
  Rng rng(9);
  std::map<std::array<int, 4>, int> count;
  for (int i = 0; i < 24'000; ++i) {
    std::array<int, 4> items{0, 1, 2, 3};
    rng.shuffle(items);
    ++count[items];
  }
  ASSERT_EQ(count.size(), 24u);
  double chi = 0;
  for (const auto& [order, c] : count) chi += (c - 1000.0) * (c - 1000.0) / 1000.0;
  EXPECT_LT(chi, 49.7);  // 23 degrees of freedom: p = 0.001
  std::vector<int> none, one{1};
  rng.shuffle(none), rng.shuffle(one);
  EXPECT_EQ(one, std::vector<int>{1});
}

}  // namespace
}  // namespace jumok
