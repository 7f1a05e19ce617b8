#include "usage.h"

#include <gtest/gtest.h>

namespace jumok {
namespace {

class UsageError : public ::testing::Test {
 protected:
  void SetUp() override {
    CLI::App* sub = app_.add_subcommand("train", "");
    sub->add_option("--source", source_)->required();
    sub->add_option("--beam", beam_);
    app_.add_subcommand("info", "");
    app_.require_subcommand(1);
  }
  std::string describe(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // CLI11 wants a vector back to front
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      return describe_usage_error(app_, error);
    }
    return "parsed";
  }
  CLI::App app_{"", "jumok"};
  std::string source_;
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

}  // namespace
}  // namespace jumok
