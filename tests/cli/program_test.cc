// The frame of the program: statuses, one-line errors, and output that cannot be written.
#include "program.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace jumok {
namespace {

bool one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n'; }

TEST(Program, HelpNamesEverySubcommandOnOneLineEachAndShowsExamples) {
  const Outcome help = run_jumok("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err, "");
  for (const char* part : {"\n  corpus ", "\n  evaluate ", "jumok train --source", "jumok translate --model"}) {
    EXPECT_NE(help.out.find(part), std::string::npos) << part << "\n" << help.out;
  }
}

TEST(Program, VersionGoesToStandardOutput) {
  const Outcome version = run_jumok("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.rfind("jumok ", 0), 0u) << version.out;
  EXPECT_TRUE(one_line(version.out));
}

TEST(Program, WrongUsageIsStatus2WithOneLineOnStandardError) {
  for (const char* arguments :
       {"", "evalute", "--verson", "evaluate --no-such-option", "corpus --no-such-option=1", "evaluate extra words"}) {
    const Outcome outcome = run_jumok(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(outcome.err.rfind("jumok: ", 0), 0u) << arguments << ": " << outcome.err;
    EXPECT_TRUE(one_line(outcome.err)) << outcome.err;
  }
}

TEST(Program, MistypedWordsAreNamedWithTheirNearMissEvenWhenSomethingElseIsMissing) {
  EXPECT_NE(run_jumok("evalute --reference x").err.find("did you mean 'evaluate'?"), std::string::npos);
  EXPECT_NE(run_jumok("--vresion").err.find("did you mean '--version'?"), std::string::npos);
  EXPECT_NE(run_jumok("evaluate --refrence=x").err.find("'--refrence', did you mean '--reference'?"), std::string::npos);
}

TEST(Program, MissingFileIsStatus1WithItsName) {
  const Outcome outcome = run_jumok("evaluate --reference '/no/such file'");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("/no/such file"), std::string::npos) << outcome.err;
  EXPECT_TRUE(one_line(outcome.err)) << outcome.err;
}

TEST(Program, OutputOnAFullDeviceIsNoticedAlthoughTheWriteOnlyFailsAtTheEnd) {
  const Outcome outcome = run_jumok("--help > /dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("standard output"), std::string::npos) << outcome.err;
  EXPECT_TRUE(one_line(outcome.err)) << outcome.err;
}

TEST(Program, ClosedStandardOutputIsAnErrorAndNotSilence) { EXPECT_EQ(run_jumok("--version >&-").status, 1); }

TEST(Program, AReaderThatLeavesEarlyEndsItWithoutAWord) {
  // The reader is gone before the program starts, so that the outcome does not depend on timing.
  const Outcome outcome = run_shell("{ sleep 0.2; \"$JUMOK_CLI\" --help; echo $? >&2; } | true");
  EXPECT_EQ(outcome.err, "141\n");
}

}  // namespace
}  // namespace jumok
