// The window of local-m where the target is longer than its source (t ≥ S): p_t = min(t, S - 1), so it stays over the last D + 1 positions.
// Every number is worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "attention/local.h"
#include "attention/recurrent_attention.h"

namespace jumok {
namespace {

using Lengths = std::vector<int32_t>;
using KeyPair = std::pair<int32_t, int32_t>;

// The keys [first, last) of each target position 0 … T-1 of a source of S positions, cut to it as the kernels do.
std::vector<KeyPair> windows(int32_t targets, int32_t source, int half_width) {
  const Lengths zero = {0}, t = {targets}, s = {source};
  Lengths position(static_cast<size_t>(targets));
  for (size_t i = 0; i < position.size(); ++i) position[i] = static_cast<int32_t>(i);
  Arena arena;
  const KeyRanges ranges = monotonic_window(arena, {zero, t, zero, s}, position, half_width);
  std::vector<KeyPair> found;
  for (size_t i = 0; i < position.size(); ++i) found.emplace_back(ranges.first[i], std::min(ranges.last[i], source));
  return found;
}

TEST(LocalMWindow, BehindTheSourceItStaysWhereTheLastPositionPutIt) {
  EXPECT_EQ(windows(8, 4, 1), (std::vector<KeyPair>{{0, 2}, {0, 3}, {1, 4}, {2, 4}, {2, 4}, {2, 4}, {2, 4}, {2, 4}}));
  EXPECT_EQ(windows(7, 5, 2), (std::vector<KeyPair>{{0, 3}, {0, 4}, {0, 5}, {1, 5}, {2, 5}, {2, 5}, {2, 5}}));
  EXPECT_EQ(windows(4, 1, 3), (std::vector<KeyPair>(4, {0, 1})));
  EXPECT_EQ(windows(5, 3, 65535), (std::vector<KeyPair>(5, {0, 3})));
}

// Two sentences of one batch, as single steps of a search: each has the length of its own source.
TEST(LocalMWindow, EachSentenceOfABatchHasItsOwnEnd) {
  const Lengths query_begin = {0, 2}, query_length = {2, 1}, key_begin = {0, 9}, key_length = {9, 3}, position = {6, 6, 6};
  Arena arena;
  const KeyRanges ranges = monotonic_window(arena, {query_begin, query_length, key_begin, key_length}, position, 1);
  EXPECT_EQ(Lengths(ranges.first.begin(), ranges.first.end()), (Lengths{5, 5, 1}));
  EXPECT_EQ(std::min(ranges.last[0], 9), 8);
  EXPECT_EQ(std::min(ranges.last[2], 3), 3);
}

// The context of target position t: dot score, source states h_j = (j, 10 j), query (`slope`, 0), so that e_j = slope · j.
std::pair<float, float> context_at(int32_t t, int source, int half_width, float slope) {
  RecurrentAttentionOptions options;
  options.score = Score::kDot;
  options.window = Window::kLocalM;
  options.half_width = half_width;
  options.query_width = options.memory_width = options.inner_width = 2;
  ParameterLayout layout;
  const RecurrentAttention attention = RecurrentAttention::make(layout, "attention", options);
  Arena arena;
  Context context{arena, nullptr};
  const Variable memory = context.result(source, 2), query = context.result(1, 2);
  for (int j = 0; j < source; ++j) {
    memory.value.row(j)[0] = static_cast<float>(j);
    memory.value.row(j)[1] = static_cast<float>(10 * j);
  }
  query.value.row(0)[0] = slope;
  query.value.row(0)[1] = 0;
  const Lengths zero = {0}, one = {1}, keys = {source}, position = {t};
  RecurrentCall call;
  call.rows = {zero, one, zero, keys};
  call.position = position;
  const Variable c = attention(context, query, attention.prepare(context, memory), call);
  return {c.value.row(0)[0], c.value.row(0)[1]};
}

// Means of the positions seen.
TEST(LocalMWindow, WithEqualScoresTheContextIsTheMeanOfWhatIsSeen) {
  const float narrow[] = {0.5f, 1, 2, 3, 4, 4.5f, 4.5f, 4.5f};  // S = 6, D = 1: {0, 1}, {0, 1, 2}, … {3, 4, 5}, {4, 5}, {4, 5}, {4, 5}
  const float wide[] = {1, 1.5f, 2, 3, 3.5f, 4, 4, 4};  // D = 2: {0, 1, 2}, {0 … 3}, {0 … 4}, {1 … 5}, {2 … 5}, {3, 4, 5}, …
  for (int32_t t = 0; t < 8; ++t) {
    EXPECT_NEAR(context_at(t, 6, 1, 0).first, narrow[t], 1e-6) << t;
    EXPECT_NEAR(context_at(t, 6, 2, 0).first, wide[t], 1e-6) << t;
    EXPECT_NEAR(context_at(t, 6, 2, 0).second, 10 * wide[t], 1e-5) << t;
  }
  for (const int32_t t : {6, 100, 2000000000}) EXPECT_NEAR(context_at(t, 6, 1, 0).first, 4.5, 1e-6) << t;
}

// e_j = j ln 2: weights in the ratio 1 : 2 : 4 : … S = 4, D = 1, t ≥ 3: positions 2 and 3 in the ratio 1 : 2; D = 2: 1, 2, 3 in 1 : 2 : 4.
TEST(LocalMWindow, WithUnequalScoresTheLeftHalfOfTheWindowStillCounts) {
  const float ln2 = std::log(2.0f);
  for (const int32_t t : {3, 4, 5, 9}) {
    EXPECT_NEAR(context_at(t, 4, 1, ln2).first, (1 * 2 + 2 * 3) / 3.0, 1e-6) << t;
    EXPECT_NEAR(context_at(t, 4, 2, ln2).first, (1 * 1 + 2 * 2 + 4 * 3) / 7.0, 1e-6) << t;
    EXPECT_NEAR(context_at(t, 4, 3, ln2).first, (1 * 0 + 2 * 1 + 4 * 2 + 8 * 3) / 15.0, 1e-6) << t;
    EXPECT_EQ(context_at(t, 1, 2, ln2).first, 0);
  }
}

}  // namespace
}  // namespace jumok
