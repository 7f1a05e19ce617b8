#include "attention/kv_cache.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace jumok {
namespace {

// A cache beside a plain history per row: random drops, copies and reorderings; keys and values carry (step, row id) so that any mix-up
// shows.
TEST(KvCache, SlotsFollowRowsThroughDropsCopiesAndReordering) {
  constexpr int kWidth = 3;
  Rng rng(4);
  for (int trial = 0; trial < 50; ++trial) {
    KvCache cache(2, kWidth);
    std::vector<std::vector<float>> history(1 + rng.below(5));
    std::vector<int32_t> parents(history.size());
    for (size_t r = 0; r < parents.size(); ++r) parents[r] = static_cast<int32_t>(r);
    for (int step = 0; step < 70; ++step) {  // beyond the first capacity
      if (step > 0) {
        parents.assign(1 + rng.below(6), 0);
        for (auto& p : parents) p = static_cast<int32_t>(rng.below(history.size()));
        std::vector<std::vector<float>> next;
        for (const int32_t p : parents) next.push_back(history[p]);
        history = next;
      }
      cache.follow(parents);
      std::vector<float> numbers(parents.size() * kWidth);
      for (size_t r = 0; r < parents.size(); ++r) {
        const float mark = static_cast<float>(100 * step + static_cast<int>(r));
        history[r].push_back(mark);
        std::fill_n(&numbers[r * kWidth], kWidth, mark);
      }
      const Tensor rows(numbers.data(), static_cast<int64_t>(parents.size()), kWidth, kWidth);
      for (size_t layer = 0; layer < 2; ++layer) cache.append(layer, rows, rows);
      const AttentionRows where = cache.rows({}, {});
      for (size_t layer = 0; layer < 2; ++layer) {
        for (size_t r = 0; r < parents.size(); ++r) {
          ASSERT_EQ(where.key_length[r], step + 1);
          for (int t = 0; t <= step; ++t) {
            ASSERT_EQ(cache.keys(layer).row(where.key_begin[r] + t)[1], history[r][t])
                << "trial " << trial << ", step " << step << ", row " << r;
            ASSERT_EQ(cache.values(layer).row(where.key_begin[r] + t)[2], history[r][t]);
          }
        }
      }
    }
  }
}

// Rows that begin with prompts of 1, 40 and 3 positions and go on together: each at its own place, beyond the first capacity too.
TEST(KvCache, RowsOfDifferentLengthGoOnEachAtItsOwnPlace) {
  constexpr int kWidth = 2;
  KvCache cache(1, kWidth);
  const std::vector<int32_t> lengths = {1, 40, 3};
  cache.begin(lengths);
  std::vector<std::vector<float>> history(3);
  std::vector<float> numbers(44 * kWidth);
  const Tensor all(numbers.data(), 44, kWidth, kWidth);
  int at = 0;
  for (int r = 0; r < 3; ++r) {
    for (int t = 0; t < lengths[r]; ++t) {
      history[r].push_back(static_cast<float>(100 * r + t));
      std::fill_n(all.row(at + t), kWidth, history[r].back());
    }
    cache.put(0, r, all, all, at);
    at += lengths[r];
  }
  std::vector<int32_t> parents = {0, 1, 2};
  for (int step = 0; step < 60; ++step) {
    if (step == 5) parents = {2, 2, 0, 1};  // a copy and another order
    if (step == 6) parents = {0, 1, 2, 3};
    if (step == 30) parents = {3, 1};
    if (step == 31) parents = {0, 1};
    std::vector<std::vector<float>> next;
    for (const int32_t p : parents) next.push_back(history[p]);
    history = next;
    cache.follow(parents);
    const auto rows = static_cast<int64_t>(parents.size());
    for (int64_t r = 0; r < rows; ++r) {
      history[r].push_back(static_cast<float>(1000 * step + r));
      std::fill_n(all.row(r), kWidth, history[r].back());
    }
    const Tensor newest = all.row_slice(0, rows);
    cache.append(0, newest, newest);
    const AttentionRows where = cache.rows({}, {});
    for (int64_t r = 0; r < rows; ++r) {
      ASSERT_EQ(where.key_length[r], static_cast<int32_t>(history[r].size()));
      ASSERT_EQ(cache.lengths()[r], where.key_length[r]);
      for (size_t t = 0; t < history[r].size(); ++t) {
        ASSERT_EQ(cache.keys(0).row(where.key_begin[r] + static_cast<int64_t>(t))[1], history[r][t]) << step << ", row " << r;
        ASSERT_EQ(cache.values(0).row(where.key_begin[r] + static_cast<int64_t>(t))[0], history[r][t]);
      }
    }
  }
}

}  // namespace
}  // namespace jumok
