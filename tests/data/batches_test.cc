#include "data/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "jumok/error.h"

namespace jumok {
namespace {

using Sentences = std::vector<int32_t>;
using Batches = std::vector<Sentences>;

Sentences random_lengths(int n, int longest, uint64_t key) {
  Rng rng(key);
  Sentences lengths(static_cast<size_t>(n));
  for (auto& length : lengths) length = 1 + static_cast<int32_t>(rng.below(static_cast<uint64_t>(longest)));
  return lengths;
}

Sentences joined(const Batches& batches) {
  Sentences all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

Sentences all_of(int n) {
  Sentences all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Sentences sorted(Sentences sentences) {
  std::sort(sentences.begin(), sentences.end());
  return sentences;
}

int64_t tokens(const Sentences& batch, const Sentences& lengths) {
  int64_t sum = 0;
  for (const int32_t i : batch) sum += lengths[static_cast<size_t>(i)] + 1;
  return sum;
}

TEST(PlanEpoch, TheLastIncompleteBatchIsKept) {
  for (const int n : {1003, 100, 1, 0}) {
    const auto lengths = random_lengths(n, 40, 1);
    for (const BatchOptions& options :
         {BatchOptions{.batch_tokens = 64, .pool_batches = 2}, BatchOptions{.batch_tokens = 100000, .max_sentences = 8}, BatchOptions{}}) {
      const auto plan = plan_epoch(lengths, lengths, options, 7, 0);
      EXPECT_EQ(sorted(joined(plan)), all_of(n));  // each sentence exactly once
      for (const auto& batch : plan) EXPECT_FALSE(batch.empty());
      if (options.max_sentences == 8) {
        EXPECT_EQ(plan.size(), static_cast<size_t>((n + 7) / 8));
      }
    }
  }
}

TEST(PlanEpoch, BatchesHoldTheTokensAskedForEndSymbolsIncluded) {
  const auto lengths = random_lengths(5000, 60, 2);
  const auto plan = plan_epoch(lengths, lengths, {.batch_tokens = 1000, .pool_batches = 10}, 7, 3);
  int64_t all = 0;
  for (const auto& batch : plan) {
    EXPECT_LE(tokens(batch, lengths), 1000);
    all += tokens(batch, lengths);
  }
  // No batch could take one more sentence of at most 61 tokens, but for the last.
  EXPECT_LE(plan.size(), static_cast<size_t>(all / (1000 - 60) + 1));
}

TEST(PlanEpoch, ASentenceAboveTheLimitIsABatchOfItsOwn) {
  const Sentences lengths = {3, 500, 4};
  const auto plan = plan_epoch(lengths, lengths, {.batch_tokens = 50}, 1, 1);
  EXPECT_EQ(sorted(joined(plan)), all_of(3));
  EXPECT_NE(std::find(plan.begin(), plan.end(), Sentences{1}), plan.end());
}

TEST(PlanEpoch, EpochsDifferAndAnyEpochIsTheSameByAJump) {
  const auto lengths = random_lengths(300, 30, 3);
  const BatchOptions options{.batch_tokens = 200, .pool_batches = 4};
  std::vector<Batches> once, twice;
  for (int epoch = 0; epoch < 3; ++epoch) once.push_back(plan_epoch(lengths, lengths, options, 11, epoch));
  for (int epoch = 2; epoch >= 0; --epoch) twice.insert(twice.begin(), plan_epoch(lengths, lengths, options, 11, epoch));
  EXPECT_EQ(once, twice);
  EXPECT_NE(joined(once[0]), joined(once[1]));
  EXPECT_NE(joined(once[1]), joined(once[2]));
  EXPECT_NE(once[0], plan_epoch(lengths, lengths, options, 12, 0));
}

// 100 sentences, batch 8, stopped after batch 5 and resumed: the plan is a function of (seed, epoch), so the rest of it is what is left.
TEST(PlanEpoch, ARestartInTheMiddleOfAnEpochSeesEachSentenceOnce) {
  const auto lengths = random_lengths(100, 20, 4);
  const BatchOptions options{.batch_tokens = 100000, .max_sentences = 8};
  const auto first = plan_epoch(lengths, lengths, options, 5, 1), resumed = plan_epoch(lengths, lengths, options, 5, 1);
  ASSERT_EQ(first.size(), 13u);
  Batches seen(first.begin(), first.begin() + 5);
  seen.insert(seen.end(), resumed.begin() + 5, resumed.end());
  EXPECT_EQ(sorted(joined(seen)), all_of(100));
  EXPECT_EQ(seen, first);
}

TEST(PlanEpoch, LikeLengthsMeetAndBatchesComeInMixedOrder) {
  const auto lengths = random_lengths(20000, 100, 5);
  const auto plan = plan_epoch(lengths, lengths, {.batch_tokens = 2000, .pool_batches = 50}, 9, 0);
  double spread = 0;
  int rises = 0;
  for (size_t b = 0; b < plan.size(); ++b) {
    const auto [low, high] = std::minmax_element(plan[b].begin(), plan[b].end(), [&](int32_t i, int32_t j) {
      return lengths[static_cast<size_t>(i)] < lengths[static_cast<size_t>(j)];
    });
    spread += lengths[static_cast<size_t>(*high)] - lengths[static_cast<size_t>(*low)];
    if (b > 0) rises += lengths[static_cast<size_t>(plan[b].front())] > lengths[static_cast<size_t>(plan[b - 1].front())];
  }
  EXPECT_LT(spread / static_cast<double>(plan.size()), 8);          // of 100; unsorted batches spread over about 95
  EXPECT_NEAR(rises / static_cast<double>(plan.size()), 0.5, 0.1);  // neither rising nor falling
}

TEST(PlanEpoch, EqualTargetsAreSortedBySource) {
  const Sentences target(64, 5), source = random_lengths(64, 50, 6);
  const auto plan = plan_epoch(source, target, {.batch_tokens = 1000}, 1, 1);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_TRUE(std::is_sorted(plan[0].begin(), plan[0].end(),
                             [&](int32_t i, int32_t j) { return source[static_cast<size_t>(i)] < source[static_cast<size_t>(j)]; }));
}

TEST(PlanEpoch, BadOptionsAreRefused) {
  const Sentences lengths(3, 1);
  EXPECT_THROW(plan_epoch(lengths, lengths, {.batch_tokens = 0}, 1, 1), Error);
  EXPECT_THROW(plan_epoch(lengths, lengths, {.pool_batches = 0}, 1, 1), Error);
  EXPECT_THROW(plan_epoch(lengths, lengths, {.max_sentences = -1}, 1, 1), Error);
  EXPECT_THROW(plan_epoch(Sentences(2, 1), lengths, {}, 1, 1), Error);
}

TEST(SplitLanes, EverySentenceIsDealtOnceAndCostsAreNearlyEqual) {
  const auto lengths = random_lengths(400, 60, 8);
  const std::vector<int64_t> costs(lengths.begin(), lengths.end());
  const auto lanes = split_lanes(all_of(400), costs, 8);
  ASSERT_EQ(lanes.size(), 8u);
  EXPECT_EQ(sorted(joined(lanes)), all_of(400));
  std::vector<int64_t> loads;
  for (const auto& lane : lanes) {
    int64_t load = 0;
    for (const int32_t i : lane) load += costs[static_cast<size_t>(i)];
    loads.push_back(load);
    EXPECT_TRUE(std::is_sorted(lane.begin(), lane.end(),
                               [&](int32_t i, int32_t j) { return costs[static_cast<size_t>(i)] > costs[static_cast<size_t>(j)]; }));
  }
  const auto [low, high] = std::minmax_element(loads.begin(), loads.end());
  EXPECT_LE(*high - *low, 2);
}

// Graham (1969), the worst case of longest-first on 2 machines: 3 3 2 2 2 gives 7 and 5.
TEST(SplitLanes, LongestFirstToTheLeastLoaded) {
  const std::vector<int64_t> costs = {3, 2, 3, 2, 2};
  EXPECT_EQ(split_lanes(all_of(5), costs, 2), (Batches{{0, 1, 4}, {2, 3}}));
}

TEST(SplitLanes, TheOrderOfTheBatchDoesNotMatter) {
  auto batch = sorted(all_of(100));
  const std::vector<int64_t> costs(100, 4);  // ties everywhere
  const auto lanes = split_lanes(batch, costs, 3);
  Rng(1).shuffle(batch);
  EXPECT_EQ(split_lanes(batch, costs, 3), lanes);
}

TEST(SplitLanes, FewerSentencesThanLanesLeaveLanesEmpty) {
  const std::vector<int64_t> costs = {1, 1};
  EXPECT_EQ(split_lanes(all_of(2), costs, 4), (Batches{{0}, {1}, {}, {}}));
  EXPECT_EQ(split_lanes({}, costs, 2), (Batches{{}, {}}));
  EXPECT_THROW(split_lanes({}, costs, 0), Error);
}

TEST(SplitRows, MicroBatchesKeepTheLimitAndTheOrder) {
  const Sentences lengths = {4, 4, 9, 30, 1, 1};  // rows 5 5 10 31 2 2
  EXPECT_EQ(split_rows(Sentences{0, 1, 2, 3, 4, 5}, lengths, 10), (Batches{{0, 1}, {2}, {3}, {4, 5}}));
  EXPECT_EQ(split_rows(Sentences{5, 3, 0}, lengths, 1000), (Batches{{5, 3, 0}}));
  EXPECT_EQ(split_rows(Sentences{}, lengths, 10), Batches{});
  EXPECT_THROW(split_rows(Sentences{0}, lengths, 0), Error);
}

}  // namespace
}  // namespace jumok
