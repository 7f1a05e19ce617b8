// jumok evaluate: files and pipes in, scores with signatures or one JSON object out.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"

namespace jumok {
namespace {

class Evaluate : public testing::Test {
 protected:
  // The path as shell text: the folder's name has a space.
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return "'" + (folder_ / name) + "'";
  }

  TemporaryFolder folder_;
  const std::string reference_ = file("reference", "hello there friend\nthe cat sat on the mat\n");
  const std::string hypothesis_ = file("hypothesis", "\nthe cat sat on the mat\n");
};

// Expected numbers: sacrebleu 2.6.0, `sacrebleu reference -i hypothesis -m bleu chrf`.
TEST_F(Evaluate, PrintsBleuAndChrfEachFollowedByItsSignature) {
  const Outcome found = run_jumok("evaluate --reference " + reference_ + " < " + hypothesis_);
  EXPECT_EQ(found.status, 0);
  EXPECT_EQ(found.err, "");
  EXPECT_EQ(found.out,
            "BLEU = 60.65 100.0/100.0/100.0/100.0 (BP = 0.607 ratio = 0.667 hyp_len = 6 ref_len = 9)\n"
            "  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:jumok-0.1.0\n"
            "chrF2 = 57.34\n"
            "  nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:jumok-0.1.0\n");
}

TEST_F(Evaluate, JsonIsOneObjectWithFullPrecision) {
  const Outcome found = run_jumok("evaluate --json --lowercase --tokenize intl --reference " + reference_ + " --hypothesis " + hypothesis_);
  EXPECT_EQ(found.status, 0);
  const auto json = nlohmann::json::parse(found.out);
  EXPECT_EQ(json.size(), 2u);
  EXPECT_NEAR(json.at("bleu").at("score"), 60.6530659712633, 1e-9);
  EXPECT_EQ(json.at("bleu").at("signature"), "nrefs:1|case:lc|eff:no|tok:intl|smooth:exp|version:jumok-0.1.0");
  EXPECT_NEAR(json.at("chrf2").at("score"), 57.338980661139, 1e-9);
  EXPECT_EQ(json.at("chrf2").at("signature"), "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:jumok-0.1.0");
}

TEST_F(Evaluate, CompressedFilesCrlfAndMissingLastLineEndGiveTheSameScores) {
  const auto plain = run_jumok("evaluate --json --reference " + reference_ + " --hypothesis " + hypothesis_);
  ASSERT_EQ(run_shell("gzip -k " + reference_).status, 0);
  const auto crlf = file("crlf", "\r\nthe cat sat on the mat");
  EXPECT_EQ(run_jumok("evaluate --json --reference " + reference_ + ".gz --hypothesis " + crlf).out, plain.out);
}

TEST_F(Evaluate, UnequalLineCountsFailWithBothCounts) {
  const Outcome found = run_jumok("evaluate --reference " + reference_ + " < " + file("three", "a\n\nb\n"));
  EXPECT_EQ(found.status, 1);
  EXPECT_EQ(found.out, "");
  EXPECT_NE(found.err.find("3 hypotheses and 2 references"), std::string::npos) << found.err;
}

TEST_F(Evaluate, EmptyFilesAreNamed) {
  const Outcome found = run_jumok("evaluate --reference " + file("none", "") + " --hypothesis " + file("nothing", ""));
  EXPECT_EQ(found.status, 1);
  for (const char* name : {"/none", "/nothing", "expected at least one line"})
    EXPECT_NE(found.err.find(name), std::string::npos) << found.err;
}

TEST_F(Evaluate, ShortSentencesAreZeroAndTheReasonIsOnStandardError) {
  const auto abc = file("abc", "a b c\n");
  const Outcome found = run_jumok("evaluate --reference " + abc + " --hypothesis " + abc);
  EXPECT_EQ(found.out.rfind("BLEU = 0.00 100.0/100.0/100.0/0.0 ", 0), 0u) << found.out;
  EXPECT_NE(found.err.find("no hypothesis has 4 words"), std::string::npos) << found.err;
}

TEST_F(Evaluate, AlignmentErrorRateOfPharaohLinks) {
  const auto gold = file("gold", "0-0 1-1 2-2 1?2\n"), links = file("links", "0-0 1-1 1-2 2-3\n");
  const Outcome found = run_jumok("evaluate --aer " + gold + " < " + links);
  EXPECT_EQ(found.status, 0);
  EXPECT_EQ(found.out, "AER = 0.2857 (precision = 0.7500 recall = 0.6667 proposed = 4 sure = 3)\n");
  const Outcome json = run_jumok("evaluate --json --aer " + gold + " < " + links);
  EXPECT_NEAR(nlohmann::json::parse(json.out).at("aer").at("score"), 2.0 / 7, 1e-15);
}

// The same links in the form of NAACL 2003, from 1, sentence by sentence.
TEST_F(Evaluate, AlignmentErrorRateOfNaaclLinksRecognisedOrTold) {
  const auto gold = file("naacl", "0001 1 1 S\n0001 2 2 S\n0001 3 3\n0001 2 3 P\n"), links = file("links", "0-0 1-1 1-2 2-3\n");
  const std::string expected = "AER = 0.2857 (precision = 0.7500 recall = 0.6667 proposed = 4 sure = 3)\n";
  EXPECT_EQ(run_jumok("evaluate --aer " + gold + " < " + links).out, expected);
  EXPECT_EQ(run_jumok("evaluate --gold-format naacl --aer " + gold + " < " + links).out, expected);
  const Outcome wrong = run_jumok("evaluate --gold-format pharaoh --aer " + gold + " < " + links);
  EXPECT_EQ(wrong.status, 1);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(run_jumok("evaluate --gold-format talp --aer " + gold + " < " + links).status, 2);
  // Two sentences without any link leave nothing in the file.
  const Outcome none = run_jumok("evaluate --gold-format naacl --aer " + file("none", "") + " < " + file("two", "\n\n"));
  EXPECT_EQ(none.out, "AER = 0.0000 (precision = 1.0000 recall = 1.0000 proposed = 0 sure = 0)\n");
}

TEST_F(Evaluate, GoldOfAnotherLengthOrFormFailsAndNothingIsPrinted) {
  const auto links = file("links", "0-0\n0-0\n");
  for (const auto& [gold, message] : {std::pair<std::string, std::string>{"0-0\n", "gold: expected 2 lines"},
                                      {"0-0\n0-0\n0-0\n", "gold: expected 2 lines"},
                                      {"0-0\n0_0\n", "gold:2: expected links like 0-1"},
                                      {"1 1 1\n3 1 1\n", "gold:2: expected a sentence from 1 to 2"}}) {
    for (const char* json : {"", "--json "}) {
      const Outcome found = run_jumok(std::string("evaluate ") + json + "--aer " + file("gold", gold) + " < " + links);
      EXPECT_EQ(found.status, 1) << gold;
      EXPECT_EQ(found.out, "");
      EXPECT_NE(found.err.find(message), std::string::npos) << found.err;
    }
  }
}

TEST_F(Evaluate, NothingAtAllIsNoPerfectAlignment) {
  const Outcome o = run_jumok("evaluate --aer " + file("gold", "") + " < /dev/null");
  EXPECT_EQ(o.status, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_NE(o.err.find("gold: expected the links of one sentence or more"), std::string::npos) << o.err;
}

TEST_F(Evaluate, LinksBeyondTheTextFailWithFileAndLine) {
  const auto gold = file("gold", "0-0\n3-0\n"), links = file("links", "0-0\n0-0\n");
  const auto text = file("text", "a b c\na b c\n");
  const Outcome found = run_jumok("evaluate --aer " + gold + " --source " + text + " --target " + text + " < " + links);
  EXPECT_EQ(found.status, 1);
  EXPECT_NE(found.err.find("gold:2: expected a source word from 0 to 2"), std::string::npos) << found.err;
}

TEST_F(Evaluate, WithoutReferenceOrGoldAndWithUnknownTokenizerIsWrongUsage) {
  EXPECT_EQ(run_jumok("evaluate").status, 2);
  EXPECT_EQ(run_jumok("evaluate --tokenize 13b --reference " + reference_).status, 2);
  EXPECT_EQ(run_jumok("evaluate --aer x --reference " + reference_).status, 2);
}

TEST_F(Evaluate, OptionsWithoutEffectAreWrongUsage) {
  for (const char* options : {"--smooth-value 1", "--smooth none --smooth-value 1"}) {
    const Outcome found = run_jumok("evaluate " + std::string(options) + " --reference " + reference_);
    EXPECT_EQ(found.status, 2) << options;
    EXPECT_NE(found.err.find("--smooth-value: expected --smooth floor or add-k too"), std::string::npos) << found.err;
  }
  for (const char* options : {"--tokenize char", "--lowercase", "--smooth floor", "--chrf-word-order 2", "--chrf-lowercase"}) {
    EXPECT_EQ(run_jumok("evaluate --aer x " + std::string(options)).status, 2) << options;
  }
}

}  // namespace
}  // namespace jumok
