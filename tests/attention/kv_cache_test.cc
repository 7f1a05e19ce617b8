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
      cache.follow(parents, step);
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

}  // namespace
}  // namespace jumok
