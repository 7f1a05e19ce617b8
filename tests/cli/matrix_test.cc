// --matrix of translate, score and align, with the little model that turns lines of digits round (tests/translate/data/reverse-digits).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "program.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;

class MatrixOption : public testing::Test {
 protected:
  // The path as shell text: the folder's name has a space.
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return quoted(name);
  }
  std::string quoted(const std::string& name) const { return "'" + (folder_ / name) + "'"; }
  Outcome translate(const std::string& input, const std::string& options) const {
    return run_jumok("translate " + options + model_ + " < " + file("input", input));
  }

  TemporaryFolder folder_;
  const std::string model_ =
      " --model '" + (fs::path(JUMOK_TEST_DATA).parent_path().parent_path() / "translate/data/reverse-digits").string() + "'";
};

TEST_F(MatrixOption, TranslateWritesThoseOfTheBestTranslations) {
  const Outcome o = translate("1 2 3\n\n4 5\n", "--nbest 2 --matrix json " + quoted("m.json"));
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out.substr(0, 15), "0 ||| 3 2 1 |||");
  std::istringstream lines(read_file(folder_ / "m.json"));
  std::string line;
  std::getline(lines, line);
  const auto first = nlohmann::json::parse(line);
  EXPECT_EQ(first["target"].back(), "</s>");
  EXPECT_EQ(first["target"].size(), 4u);
  EXPECT_EQ(first["maps"].size(), 4u);  // 2 layers × 2 heads
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line)["target"].size(), 0u);  // the blank line keeps its place
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line)["pair"], 2);
}

TEST_F(MatrixOption, TwoOutputsOfOneNameAreWrongUsage) {
  EXPECT_EQ(translate("1 2\n", "--matrix json " + quoted("m") + " --attention-html " + quoted("m")).status, 2);
}

TEST_F(MatrixOption, SeveralFormatsComeOfOneRun) {
  const Outcome o = translate("1 2 3\n4 5\n", "--matrix json " + quoted("m.json") + " --matrix npy " + quoted("b") + " --matrix tsv " +
                                                  quoted("m.tsv") + " --matrix-pairs 1");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(fs::exists(folder_ / "b/000000.npy"));
  EXPECT_FALSE(fs::exists(folder_ / "b/000001.npy"));
  const std::string json = read_file(folder_ / "m.json"), tsv = read_file(folder_ / "m.tsv");
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1);
  EXPECT_EQ(std::count(tsv.begin(), tsv.end(), '\n'), 1 + 2 * 2 * 4 * 4);
  const std::string pairs = model_ + " --source " + file("s", "1 2 3\n4 5\n") + " --target " + file("t", "3 2 1\n5 4\n");
  for (const char* command : {"score", "align"}) {
    const Outcome both = run_jumok(command + pairs + " --matrix json " + quoted("j") + " --matrix tsv " + quoted("t2"));
    EXPECT_EQ(both.status, 0) << both.err;
    EXPECT_EQ(nlohmann::json::parse(read_file(folder_ / "j").substr(0, read_file(folder_ / "j").find('\n')))["pair"], 0);
    EXPECT_GT(read_file(folder_ / "t2").size(), tsv.size());
  }
}

// Pictures of 20 pairs unless more are asked for; the numbers beside them are not cut with them.
TEST_F(MatrixOption, EachFormatKeepsItsOwnNumberOfPairs) {
  std::string lines;
  for (int i = 0; i < 22; ++i) lines += "1\n";
  ASSERT_EQ(translate(lines, "--beam 1 --matrix json " + quoted("m") + " --matrix html " + quoted("page.html")).status, 0);
  const std::string json = read_file(folder_ / "m"), page = read_file(folder_ / "page.html");
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 22);
  EXPECT_NE(page.find("<h2>Sentence 20</h2>"), std::string::npos);
  EXPECT_EQ(page.find("<h2>Sentence 21</h2>"), std::string::npos);
}

TEST_F(MatrixOption, TwoOutputsOfOnePathAreWrongUsageInPlainWords) {
  const std::string pairs = " --source none --target none", twice = " --matrix json x --matrix tsv ./x";
  for (const std::string& command : {std::string("translate"), "score" + pairs, "align" + pairs, std::string("generate")}) {
    const Outcome o = run_jumok(command + model_ + twice);
    EXPECT_EQ(o.status, 2) << command;
    EXPECT_NE(o.err.find("--matrix: expected a path of its own for each output, found './x' twice"), std::string::npos) << o.err;
  }
  const Outcome half = translate("1\n", "--matrix json " + quoted("m") + " --matrix tsv");
  EXPECT_EQ(half.status, 2);
  EXPECT_NE(half.err.find("--matrix: expected FORMAT PATH behind it"), std::string::npos) << half.err;
}

TEST_F(MatrixOption, ThePageSaysWhoseAttentionItShows) {
  const auto title = [&](const std::string& which) {
    EXPECT_EQ(translate("1 2\n", "--matrix html " + quoted("p.html") + " --matrix-of " + which).status, 0);
    const std::string page = read_file(folder_ / "p.html");
    const size_t begin = page.find("<h1>") + 4;
    return page.substr(begin, page.find("</h1>") - begin);
  };
  EXPECT_EQ(title("source"), "What reverse-digits attends to");
  EXPECT_EQ(title("encoder"), "What the encoder of reverse-digits attends to");
  EXPECT_EQ(title("decoder"), "What the decoder of reverse-digits attends to in its own text");
}

TEST_F(MatrixOption, WhatIsRefusedLeavesNoFolder) {
  EXPECT_EQ(translate("1 2\n", "--alignments pharaoh --alignment-layer 9 --matrix npy " + quoted("new")).status, 2);
  EXPECT_FALSE(fs::exists(folder_ / "new"));
  EXPECT_EQ(translate("", "--matrix npy " + quoted("new")).status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "new/symbols.jsonl"));
}

TEST_F(MatrixOption, ScoreWritesThoseOfTheFirstPairs) {
  const std::string options = model_ + " --source " + file("s", "1 2 3\n4 5\n") + " --target " + file("t", "3 2 1\n5 4\n");
  const Outcome o = run_jumok("score" + options + " --matrix tsv " + quoted("m.tsv") + " --matrix-pairs 1");
  ASSERT_EQ(o.status, 0) << o.err;
  const std::string matrices = read_file(folder_ / "m.tsv");
  EXPECT_EQ(std::count(matrices.begin(), matrices.end(), '\n'), 1 + 2 * 2 * 4 * 4);
}

TEST_F(MatrixOption, EachLayerAndHeadIsAPictureToo) {
  ASSERT_EQ(translate("1 2 3\n\n4\n", "--matrix svg " + quoted("pictures")).status, 0);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "pictures")) {
    ++files;
    EXPECT_TRUE(read_file(entry.path()).starts_with("<svg ")) << entry.path();
  }
  EXPECT_EQ(files, 2u * (1 + 4));  // the blank line has none
  EXPECT_TRUE(fs::exists(folder_ / "pictures/000002-layer1-head0.svg"));
}

TEST_F(MatrixOption, SelfAttentionsAreThoseOfTheirSide) {
  ASSERT_EQ(translate("1 2 3\n", "--matrix json " + quoted("e.json") + " --matrix-of encoder").status, 0);
  ASSERT_EQ(translate("1 2 3\n", "--matrix json " + quoted("d.json") + " --matrix-of decoder").status, 0);
  const auto encoder = nlohmann::json::parse(read_file(folder_ / "e.json")), decoder = nlohmann::json::parse(read_file(folder_ / "d.json"));
  const std::vector<std::string> source = {"▁1", "▁2", "▁3", "</s>"}, predicted = {"▁3", "▁2", "▁1", "</s>"},
                                 fed = {"<s>", "▁3", "▁2", "▁1"};
  EXPECT_EQ(encoder["source"], source);
  EXPECT_EQ(encoder["target"], source);
  EXPECT_EQ(decoder["source"], fed);
  EXPECT_EQ(decoder["target"], predicted);
  EXPECT_EQ(decoder["maps"][0]["weights"][0], (std::vector<double>{1, 0, 0, 0}));  // the first symbol sees the start alone
  EXPECT_EQ(translate("1\n", "--matrix-of decoder").status, 2);
}

}  // namespace
}  // namespace jumok
