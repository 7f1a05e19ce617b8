#include "usage.h"

#include <gtest/gtest.h>

#include "help.h"
#include "values.h"

namespace jumok {
namespace {

class UsageError : public ::testing::Test {
 protected:
  void SetUp() override {
    CLI::App* sub = app_.add_subcommand("train", "");
    sub->add_option("--source", source_)->required();
    sub->add_option("--beam", beam_);
    sub->add_option("--model", model_)->type_name("DIR");
    sub->add_option("--pair", pairs_)->type_name("FILE FILE");
    sub->add_option("--output", output_)->type_name("PATH");
    sub->add_flag("--quiet");
    app_.add_subcommand("info", "");
    app_.require_subcommand(1);
    refuse_slips(app_, words_);
  }
  std::string describe(std::vector<std::string> words) {
    words_ = words;
    std::reverse(words.begin(), words.end());  // CLI11 wants a vector back to front
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      return describe_usage_error(app_, error);
    }
    return "parsed";
  }
  CLI::App app_{"", "jumok"};
  std::vector<std::string> words_;
  std::string source_, model_, output_;
  std::vector<std::pair<std::string, std::string>> pairs_;
  int beam_ = 0;
};

TEST_F(UsageError, NamesTheMistypedOptionInsteadOfTheOneReportedMissing) {
  EXPECT_EQ(describe({"train", "--sorce", "a"}), "unknown option '--sorce', did you mean '--source'? (see 'jumok train --help')");
}

TEST_F(UsageError, NamesTheMistypedSubcommandInsteadOfASubcommandMissing) {
  EXPECT_EQ(describe({"trian", "--source", "a"}), "unknown subcommand 'trian', did you mean 'train'? (see 'jumok --help')");
}

TEST_F(UsageError, NamesWhatIsMissing) {
  EXPECT_EQ(describe({}), "expected a subcommand (see 'jumok --help')");
  EXPECT_EQ(describe({"train"}), "--source is required (see 'jumok train --help')");
}

TEST_F(UsageError, NamesAnArgumentTooMany) {
  EXPECT_EQ(describe({"train", "--source", "a", "b"}), "unexpected argument 'b' (see 'jumok train --help')");
}

TEST_F(UsageError, NamesTheOptionWithABadValue) {
  const std::string text = describe({"train", "--source", "a", "--beam", "wide"});
  EXPECT_NE(text.find("--beam"), std::string::npos) << text;
  EXPECT_NE(text.find("wide"), std::string::npos) << text;
}

TEST_F(UsageError, SaysWhatIsWrongWithACountInPlainWords) {
  EXPECT_EQ(describe({"train", "--source"}), "--source: expected TEXT behind it, found too little (see 'jumok train --help')");
  EXPECT_EQ(describe({"train", "--source", "a", "--source", "b"}), "--source: expected once, found 2 times (see 'jumok train --help')");
}

TEST_F(UsageError, AnOptionIsNoValueOfTheOneBeforeIt) {
  const std::string see = " (see 'jumok train --help')";
  EXPECT_EQ(describe({"train", "--model", "--source", "a"}), "--model: expected DIR behind it, found the option '--source'" + see);
  EXPECT_EQ(describe({"train", "--model", "--source=a"}), "--model: expected DIR behind it, found the option '--source=a'" + see);
  EXPECT_EQ(describe({"train", "--pair", "a", "--source", "b"}), "--pair: expected FILE FILE behind it, found the option '--source'" + see);
  for (const char* text : {"--sauce", "-", "-source", "source"})
    EXPECT_EQ(describe({"train", "--source", text, "--quiet"}), "parsed") << text;
}

TEST_F(UsageError, WhatStandsBehindAnEqualsSignIsAValue) {
  EXPECT_EQ(describe({"train", "--source=--model", "--model=--quiet"}), "parsed");
  EXPECT_EQ(source_, "--model");
  EXPECT_EQ(model_, "--quiet");
}

// What "$UNSET" gives: without a word, a run would have had no validation, no log, another folder.
TEST_F(UsageError, AFileWithoutANameIsToldFromAnOptionLeftOut) {
  const std::string see = " (see 'jumok train --help')";
  EXPECT_EQ(describe({"train", "--source", "a", "--model", ""}), "--model: expected DIR behind it, found an empty name" + see);
  EXPECT_EQ(describe({"train", "--source", "a", "--pair", "b", ""}), "--pair: expected FILE FILE behind it, found an empty name" + see);
  EXPECT_EQ(describe({"train", "--source", "a", "--output", ""}), "--output: expected PATH behind it, found an empty name" + see);
  EXPECT_EQ(describe({"train", "--source", ""}), "parsed");  // a text
}

std::string refusal(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST(Values, WholeNumbersAreDecimalAndInRange) {
  for (const char* good : {"1", "10", "+7", "007"}) EXPECT_EQ(refusal(whole(1, 10), good), "") << good;
  for (const char* bad : {"", "0", "11", "-1", "1.5", "1e0", "0x5", " 5", "5 ", "nan", "99999999999999999999", "+-1"}) {
    EXPECT_EQ(refusal(whole(1, 10), bad), "expected a whole number from 1 to 10, found '" + std::string(bad) + "'");
  }
  EXPECT_EQ(refusal(whole(0), "-1"), "expected a whole number, 0 or more, found '-1'");
  std::string octal = "010";
  whole(1, 10)(octal);
  EXPECT_EQ(octal, "10");  // CLI11 would read 8
}

TEST(Values, SeedsNeitherSaturateNorWrapAround) {
  EXPECT_EQ(refusal(seed_value(), "18446744073709551615"), "");
  for (const char* bad : {"18446744073709551616", "-1", "1.5", ""}) EXPECT_NE(refusal(seed_value(), bad), "") << bad;
}

TEST(Values, NotANumberAndInfinityAreNoRealNumbers) {
  for (const char* good : {"0", "0.3", "1", "1e-3"}) EXPECT_EQ(refusal(real(0, 1), good), "") << good;
  for (const char* bad : {"nan", "-nan", "inf", "1.0001", "-0.1", "", "x", "1e999"}) EXPECT_NE(refusal(real(0, 1), bad), "") << bad;
  for (const char* bad : {"nan", "inf", "0", "-1"})
    EXPECT_EQ(refusal(positive_real(), bad), "expected a number above 0, found '" + std::string(bad) + "'");
  EXPECT_EQ(refusal(positive_real(), "0.1"), "");
}

TEST(Values, NamesAreListed) { EXPECT_EQ(refusal(one_of({"a", "b"}), "c"), "expected one of a, b, found 'c'"); }

TEST(Help, LinesAreBrokenAtSpacesByCellsAndNotBytes) {
  EXPECT_EQ(wrapped("주목 주목 주목", 5), "주목 주목\n주목");
  EXPECT_EQ(wrapped("a toolongword b", 4), "a\ntoolongword\nb");
  EXPECT_EQ(wrapped("", 4), "");
}

}  // namespace
}  // namespace jumok
