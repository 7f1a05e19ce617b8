#include "progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>

namespace jumok {
namespace {

TEST(ProgressBar, IsAlwaysTheSameWidthAndFillsInEighths) {
  EXPECT_EQ(progress_bar(0, 4), "▕    ▏");
  EXPECT_EQ(progress_bar(0.5, 4), "▕██  ▏");
  EXPECT_EQ(progress_bar(1.0 / 32, 4), "▕▏   ▏");
  EXPECT_EQ(progress_bar(31.0 / 32, 4), "▕███▉▏");
  EXPECT_EQ(progress_bar(1, 4), "▕████▏");
}

TEST(ProgressBar, FractionsOutsideZeroToOneDoNotOverflowIt) {
  EXPECT_EQ(progress_bar(-3, 4), "▕    ▏");
  EXPECT_EQ(progress_bar(7, 4), "▕████▏");
}

TEST(ProgressText, Durations) {
  EXPECT_EQ(format_duration(0.4), "0:00");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(754), "12:34");
  EXPECT_EQ(format_duration(11100), "3:05:00");
  EXPECT_EQ(format_duration(4 * 86400 + 5 * 3600 + 59), "4 d 05 h");
}

TEST(ProgressText, RatesHaveThreeFiguresAndRoundIntoTheNextPrefix) {
  EXPECT_EQ(format_rate(0), "0.00");
  EXPECT_EQ(format_rate(0.0342), "0.034");
  EXPECT_EQ(format_rate(3.412), "3.41");
  EXPECT_EQ(format_rate(9.997), "10.0");
  EXPECT_EQ(format_rate(99.97), "100");
  EXPECT_EQ(format_rate(999.6), "1.00k");
  EXPECT_EQ(format_rate(12345), "12.3k");
  EXPECT_EQ(format_rate(4.56e6), "4.56M");
}

TEST(ProgressText, CuttingNeverSplitsACharacter) {
  EXPECT_EQ(fit_cells("주목하라", 2), "주목");
  EXPECT_EQ(fit_cells("주목", 9), "주목");
  EXPECT_EQ(fit_cells("abc", 0), "");
}

TEST(ProgressText, ALineGivesUpWholePartsAtItsEnd) {
  EXPECT_EQ(fit_parts("one  two words  three", 30), "one  two words  three");
  EXPECT_EQ(fit_parts("one  two words  three", 20), "one  two words");
  EXPECT_EQ(fit_parts("one  two words  three", 15), "one  two words");
  EXPECT_EQ(fit_parts("one  two words  three", 14), "one  two words");
  EXPECT_EQ(fit_parts("one  two words  three", 13), "one");
  EXPECT_EQ(fit_parts("one  two words  three", 4), "one");
  EXPECT_EQ(fit_parts("one  two words  three", 2), "on");
  EXPECT_EQ(cells_of("주목 ▏"), 4);
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(descriptor, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  return text;
}

// What `use` writes through a Progress into a pipe: plain lines.
template <typename Use>
std::string plain_output(ProgressOptions options, Use use) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  options.stream = ::fdopen(ends[1], "w");
  use(options);
  std::fclose(options.stream);
  const std::string text = read_all(ends[0]);
  ::close(ends[0]);
  return text;
}

TEST(Progress, ElsewhereThanOnATerminalShortWorkPrintsItsSummaryOnly) {
  const std::string text = plain_output({.label = "translate", .total = 1000, .unit = "lines"}, [](const ProgressOptions& options) {
    Progress progress(options);
    for (int i = 0; i < 1000; ++i) progress.update(i);
    progress.finish(1000, "all good");
  });
  EXPECT_TRUE(std::regex_match(text, std::regex("translate  1000 lines in 0:00  [0-9.kMGT]+ lines/s  all good\n"))) << text;
}

TEST(Progress, ElsewhereThanOnATerminalLinesArePlainAndCarryEveryFigure) {
  const std::string text =
      plain_output({.label = "train", .total = 8, .unit = "updates", .line_seconds = 0}, [](const ProgressOptions& options) {
        Progress progress(options);
        ::usleep(1000);
        progress.update(2, "loss 3.21");
      });
  EXPECT_TRUE(std::regex_match(text, std::regex("train   25%  2/8 updates  [0-9.kMGT]+ updates/s  0:00 left  loss 3.21\n"))) << text;
}

TEST(Progress, WorkOfUnknownAmountShowsCountAndRateWithoutPercent) {
  const std::string text = plain_output({.label = "read", .unit = "lines", .line_seconds = 0}, [](const ProgressOptions& options) {
    Progress progress(options);
    ::usleep(1000);
    progress.update(7);
  });
  EXPECT_TRUE(std::regex_match(text, std::regex("read  7 lines  [0-9.kMGT]+ lines/s\n"))) << text;
}

TEST(Progress, ResumedWorkDoesNotCountForTheRate) {
  const std::string text = plain_output({.label = "train", .total = 2000000, .unit = "updates", .line_seconds = 0}, [](auto& options) {
    Progress progress(options);
    progress.resume(1000000);
    progress.update(1000000);
  });
  EXPECT_EQ(text, "train   50%  1.00M/2.00M updates\n");
}

TEST(Progress, QuietShowsNotesOnly) {
  const std::string text =
      plain_output({.label = "train", .total = 8, .line_seconds = 0, .quiet = true}, [](const ProgressOptions& options) {
        Progress progress(options);
        progress.update(2);
        progress.note("a warning");
        progress.finish(8);
      });
  EXPECT_EQ(text, "a warning\n");
}

const std::string kBack = "\r\x1b[K";

// What `use` writes through a Progress to a terminal of so many cells.
template <typename Use>
std::string terminal_output(int cells, ProgressOptions options, const Use& use) {
  ::setenv("TERM", "xterm", 1);
  winsize size{.ws_row = 24, .ws_col = static_cast<unsigned short>(cells), .ws_xpixel = 0, .ws_ypixel = 0};
  int leader, follower;
  EXPECT_EQ(::openpty(&leader, &follower, nullptr, nullptr, &size), 0);
  options.bar_seconds = 0;
  options.stream = ::fdopen(follower, "w");
  {
    Progress progress(options);
    use(progress);
  }
  ::fcntl(leader, F_SETFL, O_NONBLOCK);
  std::string text = read_all(leader);
  std::fclose(options.stream);
  ::close(leader);
  return text;
}

TEST(Progress, OnATerminalTheBarStaysOnOneLineAndIsTakenBackForNotesAndAtTheEnd) {
  const std::string text = terminal_output(40, {.label = "train", .total = 8, .unit = "updates"}, [](Progress& progress) {
    progress.update(4, "a text too long for what is left of forty cells");
    progress.note("warning");
  });
  const std::string bar = kBack + "train  ▕████    ▏   50%  4/8 updates";  // the rate would go over the 39th of 40 cells
  EXPECT_EQ(text, bar + kBack + "warning\r\n" + bar + kBack) << text;
}

// What a training shows: the bar gives way to the figures, and of these the last to go are loss and rate.
TEST(Progress, EightyCellsHoldShareTimeLossAndRate) {
  for (const int cells : {80, 132}) {
    const std::string text = terminal_output(cells, {.label = "train", .total = 1}, [](Progress& progress) {
      progress.update(0.25, "loss 12.119  4.06k tokens/s  update 123456  epoch 12.11");
    });
    EXPECT_NE(text.find(" 25%"), std::string::npos) << text;
    EXPECT_NE(text.find(" left  loss 12.119  4.06k tokens/s"), std::string::npos) << text;
    EXPECT_EQ(text.find("epoch 12.11") != std::string::npos, cells == 132) << text;
    EXPECT_NE(text.find(cells == 80 ? "▕██" : "▕██████  "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace jumok
