#include "data/batches.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/rng.h"

namespace jumok {
namespace {

constexpr uint64_t kPlanStream = 0x706c616e;  // keeps these random numbers apart from others drawn from the same seed

using Sentences = std::vector<int32_t>;

int64_t rows_of(std::span<const int32_t> lengths, int32_t sentence) { return lengths[static_cast<size_t>(sentence)] + 1; }

void check_options(std::span<const int32_t> source_lengths, std::span<const int32_t> target_lengths, const BatchOptions& options) {
  check(source_lengths.size() == target_lengths.size(), "batches: expected equally many source and target lengths, found {} and {}",
        source_lengths.size(), target_lengths.size());
  check(options.batch_tokens > 0, "batch-tokens: expected a number above 0, found {}", options.batch_tokens);
  check(options.pool_batches > 0, "pool-batches: expected a number above 0, found {}", options.pool_batches);
  check(options.max_sentences >= 0, "max-sentences: expected a number of at least 0, found {}", options.max_sentences);
}

// Moves the sorted pool into batches; the last one, not filled, stays in the pool for the next round.
void cut_batches(Sentences& pool, std::span<const int32_t> target_lengths, const BatchOptions& options, std::vector<Sentences>& batches) {
  Sentences batch;
  int64_t tokens = 0;
  for (const int32_t sentence : pool) {
    const int64_t rows = rows_of(target_lengths, sentence);
    const bool full = options.max_sentences > 0 && batch.size() == static_cast<size_t>(options.max_sentences);
    if (!batch.empty() && (full || tokens + rows > options.batch_tokens)) {
      batches.push_back(std::exchange(batch, {}));
      tokens = 0;
    }
    batch.push_back(sentence);
    tokens += rows;
  }
  pool = std::move(batch);
}

}  // namespace

std::vector<std::vector<int32_t>> plan_epoch(std::span<const int32_t> source_lengths, std::span<const int32_t> target_lengths,
                                             const BatchOptions& options, uint64_t seed, int64_t epoch) {
  check_options(source_lengths, target_lengths, options);
  Rng rng(hash_words(seed, kPlanStream, epoch));
  Sentences order(target_lengths.size());
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(order);

  const auto by_length = [&](int32_t a, int32_t b) {
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    return std::tie(target_lengths[i], source_lengths[i]) < std::tie(target_lengths[j], source_lengths[j]);
  };
  std::vector<Sentences> batches;
  Sentences pool;
  int64_t pool_tokens = 0;
  for (const int32_t sentence : order) {
    pool.push_back(sentence);
    pool_tokens += rows_of(target_lengths, sentence);
    if (pool_tokens < options.batch_tokens * options.pool_batches) continue;
    std::stable_sort(pool.begin(), pool.end(), by_length);
    cut_batches(pool, target_lengths, options, batches);
    pool_tokens = 0;
    for (const int32_t left : pool) pool_tokens += rows_of(target_lengths, left);
  }
  std::stable_sort(pool.begin(), pool.end(), by_length);
  cut_batches(pool, target_lengths, options, batches);
  if (!pool.empty()) batches.push_back(std::move(pool));
  rng.shuffle(batches);
  return batches;
}

std::vector<std::vector<int32_t>> split_lanes(std::span<const int32_t> batch, std::span<const int64_t> costs, int lanes) {
  check(lanes > 0, "lanes: expected a number above 0, found {}", lanes);
  Sentences order(batch.begin(), batch.end());
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int64_t x = costs[static_cast<size_t>(a)], y = costs[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  std::vector<Sentences> dealt(static_cast<size_t>(lanes));
  using Load = std::pair<int64_t, int>;  // summed cost, lane: the least loaded lane first, the lower number among equals
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int lane = 0; lane < lanes; ++lane) loads.emplace(0, lane);
  for (const int32_t sentence : order) {
    const auto [load, lane] = loads.top();
    loads.pop();
    dealt[static_cast<size_t>(lane)].push_back(sentence);
    loads.emplace(load + costs[static_cast<size_t>(sentence)], lane);
  }
  return dealt;
}

std::vector<std::vector<int32_t>> split_rows(std::span<const int32_t> lane, std::span<const int32_t> lengths, int64_t max_rows) {
  check(max_rows > 0, "rows of a micro-batch: expected a number above 0, found {}", max_rows);
  std::vector<Sentences> parts;
  int64_t rows = 0;
  for (const int32_t sentence : lane) {
    const int64_t more = rows_of(lengths, sentence);
    if (parts.empty() || rows + more > max_rows) {
      parts.emplace_back();
      rows = 0;
    }
    parts.back().push_back(sentence);
    rows += more;
  }
  return parts;
}

}  // namespace jumok
