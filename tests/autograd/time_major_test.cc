// The rows of a packed batch step by step, worked out by hand.
#include "autograd/time_major.h"

#include <gtest/gtest.h>

#include <vector>

namespace jumok {
namespace {

using Numbers = std::vector<int32_t>;

Numbers copy_of(std::span<const int32_t> s) { return {s.begin(), s.end()}; }

// Four sentences out of order: rows 2 and 3, 4 to 6, none, 0 and 1. Where the empty one would begin does not matter.
TEST(TimeMajorRows, SentencesOutOfOrderGoLongestFirstAndEqualLengthsKeepTheirOrder) {
  const Numbers begin = {2, 4, 99, 0}, length = {2, 3, 0, 2};
  for (const bool reversed : {false, true}) {
    SCOPED_TRACE(testing::Message() << "reversed " << reversed);
    Arena arena;
    const TimeMajor m = time_major(arena, begin, length, 7, reversed);
    EXPECT_EQ(m.steps, 3);
    EXPECT_FALSE(m.ordered);
    EXPECT_EQ(copy_of(m.order), (Numbers{1, 0, 3, 2}));
    EXPECT_EQ(copy_of(m.first), (Numbers{0, 3, 6, 7}));
    EXPECT_EQ(copy_of(m.row), reversed ? (Numbers{6, 3, 1, 5, 2, 0, 4}) : (Numbers{4, 2, 0, 5, 3, 1, 6}));
    EXPECT_EQ(m.rows(), 7);
    for (const int64_t t : {0, 1, 2, 3, 9}) EXPECT_EQ(m.alive(t), t < 2 ? 3 : t == 2 ? 1 : 0) << "step " << t;
  }
}

TEST(TimeMajorRows, SentencesThatComeLongestFirstKeepTheirRanks) {
  const Numbers begin = {0, 3, 5}, length = {3, 2, 2};
  Arena arena;
  const TimeMajor m = time_major(arena, begin, length, 7, false);
  EXPECT_TRUE(m.ordered);
  EXPECT_EQ(copy_of(m.order), (Numbers{0, 1, 2}));
  EXPECT_EQ(copy_of(m.first), (Numbers{0, 3, 6, 7}));
  EXPECT_EQ(copy_of(m.row), (Numbers{0, 3, 5, 1, 4, 6, 2}));
}

TEST(TimeMajorRows, NoSentencesAndEmptyOnesHaveNoSteps) {
  for (const Numbers& none : {Numbers{}, Numbers{0, 0}}) {
    Arena arena;
    const TimeMajor m = time_major(arena, none, none, 0, false);
    EXPECT_EQ(m.steps, 0);
    EXPECT_EQ(m.rows(), 0);
    EXPECT_EQ(m.alive(0), 0);
    EXPECT_EQ(m.order.size(), none.size());
    EXPECT_TRUE(m.row.empty());
  }
}

}  // namespace
}  // namespace jumok
