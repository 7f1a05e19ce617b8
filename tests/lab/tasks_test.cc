#include "lab/tasks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"

namespace jumok {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(Tasks, CopyAndReverseAndTheirLinks) {
  for (const Task task : {Task::kCopy, Task::kReverse}) {
    for (const TaskPair& p : make_task({task, 2, 7, 3, false}, 50)) {
      const auto s = words(p.source), t = words(p.target);
      ASSERT_EQ(s.size(), t.size());
      ASSERT_GE(s.size(), 2u);
      ASSERT_LE(s.size(), 7u);
      ASSERT_EQ(p.gold.sure.size(), s.size());
      for (const AlignmentLink& l : p.gold.sure) {
        EXPECT_EQ(s[static_cast<size_t>(l.source)], t[static_cast<size_t>(l.target)]);
        if (task == Task::kReverse) {
          EXPECT_EQ(l.source + l.target + 1, static_cast<int>(s.size()));
        }
      }
    }
  }
}

// Days since 1 January 1900, from a calendar.
TEST(Tasks, DatesAreSaidAndWrittenRightly) {
  EXPECT_EQ(date_pair(0, 0).source, "the first of january nineteen hundred");
  EXPECT_EQ(date_pair(0, 0).target, "1 9 0 0 - 0 1 - 0 1");
  EXPECT_EQ(date_pair(31852, 1).source, "march eighteenth , nineteen eighty seven");  // 1987-03-18
  EXPECT_EQ(date_pair(31852, 1).target, "1 9 8 7 - 0 3 - 1 8");
  EXPECT_EQ(date_pair(36583, 2).source, "in twenty hundred , on february twenty ninth");  // 2000-02-29: a leap year
  EXPECT_EQ(date_pair(36583, 2).target, "2 0 0 0 - 0 2 - 2 9");
  EXPECT_EQ(date_pair(kTaskDays - 1, 0).source, "the thirty first of december twenty ninety nine");
  EXPECT_EQ(date_pair(kTaskDays - 1, 0).target, "2 0 9 9 - 1 2 - 3 1");
  EXPECT_EQ(date_pair(1828, 0).source, "the third of january nineteen oh five");  // 1904 was a leap year, 1900 none
}

// "march eighteenth , nineteen eighty seven" → "1 9 8 7 - 0 3 - 1 8": digits are words 0-3, 5, 6, 8, 9.
TEST(Tasks, EveryDigitOfADateHasItsWord) {
  const std::vector<AlignmentLink> expected = {{0, 5}, {0, 6}, {1, 8}, {1, 9}, {3, 0}, {3, 1}, {4, 2}, {5, 3}};
  EXPECT_EQ(date_pair(31852, 1).gold.sure, expected);
  for (int day = 0; day < kTaskDays; day += 97) {
    for (int form = 0; form < 3; ++form) {
      std::set<int> digits;
      for (const AlignmentLink& l : date_pair(day, form).gold.sure) digits.insert(l.target);
      EXPECT_EQ(digits, (std::set<int>{0, 1, 2, 3, 5, 6, 8, 9})) << day;
    }
  }
}

TEST(Tasks, NoTestedDateIsTrainedOn) {
  const LabText text = task_text({Task::kDates, 1, 1, 5, false}, 2000, 300);
  const std::set<std::string> trained(text.target.begin(), text.target.end());
  for (const std::string& t : text.test_target) EXPECT_FALSE(trained.contains(t)) << t;
  EXPECT_EQ(text.gold.size(), 300u);
}

TEST(Tasks, TheSeedAloneDecides) {
  const TaskOptions o{Task::kReverse, 1, 9, 4, false};
  const auto a = make_task(o, 20), b = make_task(o, 10);
  for (size_t i = 0; i < b.size(); ++i) EXPECT_EQ(a[i].source, b[i].source);
  EXPECT_NE(make_task({Task::kReverse, 9, 9, 5, false}, 1)[0].source, make_task({Task::kReverse, 9, 9, 4, false}, 1)[0].source);
}

TEST(Tasks, FaultsAreNamed) {
  EXPECT_THROW(make_task({Task::kCopy, 0, 3, 1, false}, 1), Error);
  EXPECT_THROW(parse_task("sort"), Error);
  EXPECT_THROW(file_text({"a", "b", "", ""}, 0), Error);
}

}  // namespace
}  // namespace jumok
