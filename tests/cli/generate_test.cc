// jumok generate, and score and info of a language model, with the little model that repeats digits (tests/translate/data/repeat-digits).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file.h"
#include "program.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;
const fs::path kData = fs::path(JUMOK_TEST_DATA).parent_path().parent_path() / "translate/data";

class GenerateCommand : public testing::Test {
 protected:
  // The path as shell text: the folder's name has a space.
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return "'" + (folder_ / name) + "'";
  }
  std::string text(const std::string& input, const std::string& options) const {
    const Outcome o = run_jumok("generate " + options + model_ + " < " + file("input", input));
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.err, "");
    return o.out;
  }
  static void expect_wrong_usage(const std::string& arguments, const std::string& message) {
    const Outcome o = run_jumok(arguments);
    EXPECT_EQ(o.status, 2) << arguments;
    EXPECT_EQ(o.out, "");
    EXPECT_NE(o.err.find(message), std::string::npos) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  }

  TemporaryFolder folder_;
  const std::string model_ = " --model '" + (kData / "repeat-digits").string() + "'";
  const std::string translator_ = " --model '" + (kData / "reverse-digits").string() + "'";
};

TEST_F(GenerateCommand, EachLineIsGoneOnWith) {
  EXPECT_EQ(text("3 1 4 2\n9 8 7 6 9 8\r\n", "--greedy"), "3 1 4 2 3 1 4 2 3 1 4 2\n9 8 7 6 9 8 7 6 9 8 7 6\n");
  EXPECT_EQ(text("3 1 4 2\n9 8 7 6 9 8", "--greedy --continuation"), " 3 1 4 2 3 1 4 2\n 7 6 9 8 7 6\n");
  EXPECT_EQ(text("3 1 4 2\n", "--greedy --max-length 3"), "3 1 4 2 3 1 4\n");
  EXPECT_EQ(text("3 1 4 2\n", "--greedy --stop ' 2 3'"), "3 1 4 2 3 1 4\n");
  EXPECT_EQ(text("3 1 4 2\n", "--greedy --max-length 3 --stop=--model"), "3 1 4 2 3 1 4\n");  // a text like any other
  EXPECT_EQ(text("", "--greedy"), "");
}

// Of a text of n symbols the end and n predicted ones, each with the start and those before it.
TEST_F(GenerateCommand, MatricesOfTheTextsAreWritten) {
  EXPECT_EQ(text("3 1 4 2\n9 8 7 6 9 8\n", "--greedy --max-length 2 --matrix tsv '" + (folder_ / "m.tsv") + "' "),
            "3 1 4 2 3 1\n9 8 7 6 9 8 7 6\n");
  const std::string written = read_file(folder_ / "m.tsv");
  EXPECT_NE(written.find("<s>"), std::string::npos);
  const std::string input = file("text", "3 1 4 2 3 1\n9 8 7 6 9 8 7 6\n");
  const Outcome o = run_jumok("score" + model_ + " --text " + input + " --matrix tsv '" + (folder_ / "n.tsv") + "'");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(read_file(folder_ / "n.tsv"), written);
}

TEST_F(GenerateCommand, DrawsAreTheSameWhateverTheThreadsBatchesAndWindows) {
  std::string input;
  for (int i = 0; i < 60; ++i) input += i % 3 == 0 ? "\n" : std::to_string(i % 10) + " 1\n";
  const std::string expected = text(input, "--temperature 1.5 --seed 7 --threads 1 --batch 32");
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 60);
  EXPECT_EQ(text(input, "--temperature 1.5 --seed 7 --threads 2 --batch 1"), expected);
  EXPECT_EQ(text(input, "--temperature 1.5 --seed 7 --threads 2 --batch 5 --window 7"), expected);
  EXPECT_NE(text(input, "--temperature 1.5 --seed 8"), expected);
}

TEST_F(GenerateCommand, SamplesAreNumberedByTheirLine) {
  std::istringstream lines(text("\n1 2\n", "--samples 3"));
  std::string line;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(line.starts_with(i < 3 ? "0 ||| " : "1 ||| 1 2 ")) << line;
    EXPECT_LT(std::stod(line.substr(line.rfind("||| ") + 4)), 0);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(GenerateCommand, APromptBeyondTheLastPositionIsSaidOnce) {
  std::string prompt = "1";
  for (int i = 0; i < 20; ++i) prompt += " 1";
  const Outcome o = run_jumok("generate --greedy" + model_ + " < " + file("input", "1 2 3 4\n" + prompt + "\n"));
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 2);
  EXPECT_EQ(o.err, "jumok: line 2: the prompt has 21 symbols, the model 16 positions: only the last 8 symbols are read\n");
}

TEST_F(GenerateCommand, AModelOfTheOtherKindIsWrongUsage) {
  expect_wrong_usage("generate" + translator_, "is a translation model: it needs a source; see jumok translate");
  const std::string message = "is a language model: it has no source; see jumok generate and score";
  expect_wrong_usage("translate" + model_, message);
  const std::string one = file("one", "1\n");
  expect_wrong_usage("align" + model_ + " --source " + one + " --target " + one, message);
  expect_wrong_usage("score" + model_ + " --source " + one + " --target " + one, "a language model scores texts alone");
  expect_wrong_usage("score" + translator_ + " --text " + one, "a translation model scores pairs");
  expect_wrong_usage("score" + translator_ + " --target " + one, "--source is required");
  expect_wrong_usage("score" + model_, "--text is required");
}

TEST_F(GenerateCommand, ChoicesThatDoNotFitTogetherAreWrongUsage) {
  for (const char* with : {"--temperature 2", "--top-k 3", "--top-p 0.5", "--seed 2", "--samples 2"})
    expect_wrong_usage("generate --greedy " + std::string(with) + model_, "--greedy");
  for (const char* bad : {"--temperature 0", "--temperature nan", "--top-p 0", "--top-p nan", "--top-p 1.1", "--top-k -1", "--max-length 0",
                          "--samples 0", "--batch 0", "--stop ''"})
    expect_wrong_usage("generate " + std::string(bad) + model_, std::string(bad).substr(0, std::string(bad).find(' ')));
}

TEST_F(GenerateCommand, TrainingFilesOfTheOtherKindAreWrongUsage) {
  const std::string lm = "train --preset lm-tiny --model /tmp/m ", pairs = "train --preset transformer-tiny --model /tmp/m ";
  expect_wrong_usage(lm + "--source a --target b", "--source: not with --preset lm-tiny; a language model learns from --text");
  expect_wrong_usage(lm + "--text a --valid-source b --valid-target c", "--valid-source: not with --preset lm-tiny");
  expect_wrong_usage(lm + "--text a --separate", "--separate: not with --preset lm-tiny");
  expect_wrong_usage(lm, "--text is required");
  expect_wrong_usage(pairs + "--text a", "--text: not with --preset transformer-tiny; a translator learns from --source and --target");
}

// exp(-log P / symbols) and exp(-log P / (words + line ends)), by the printed log P; here each word is a symbol.
TEST_F(GenerateCommand, ScoreTellsLogProbabilitiesAndPerplexities) {
  const std::string input = file("text", "3 1 4 2 3 1 4 2 3 1 4 2\n\n1 2\n");
  const Outcome o = run_jumok("score --perplexity" + model_ + " --text " + input);
  EXPECT_EQ(o.status, 0);
  std::istringstream lines(o.out);
  double value = 0, sum = 0;
  int count = 0;
  for (; lines >> value; ++count) sum += value;
  EXPECT_EQ(count, 3);
  char expected[100];
  std::snprintf(expected, sizeof(expected), "perplexity %.2f", std::exp(-sum / 17));
  EXPECT_NE(o.err.find("3 lines, 17 symbols with end symbols"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find(expected), std::string::npos) << o.err << expected;
  EXPECT_NE(o.err.find("per word (14 words, split at white space, and 3 line ends)"), std::string::npos) << o.err;
  EXPECT_EQ(run_jumok("score" + model_ + " --target " + input).out, o.out);
}

TEST_F(GenerateCommand, InfoTellsWhatItIs) {
  const Outcome o = run_jumok("info" + model_);
  EXPECT_EQ(o.status, 0);
  EXPECT_NE(o.out.find("language-model (decoder-only)"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("13 subwords"), std::string::npos) << o.out;
  EXPECT_EQ(o.out.find("encoder"), std::string::npos) << o.out;
}

}  // namespace
}  // namespace jumok
