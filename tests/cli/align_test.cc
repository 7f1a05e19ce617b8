// jumok align with the little model that turns lines of digits round (tests/translate/data/reverse-digits).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "matrix_output.h"
#include "program.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
const std::string kModel = (fs::path(JUMOK_TEST_DATA).parent_path().parent_path() / "translate/data/reverse-digits").string();

class AlignCommand : public testing::Test {
 protected:
  // The path as shell text: the folder's name has a space.
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return quoted(name);
  }
  std::string quoted(const std::string& name) const { return "'" + (folder_ / name) + "'"; }
  std::string pairs(const std::string& source, const std::string& target) const {
    return " --model '" + kModel + "' --source " + file("source", source) + " --target " + file("target", target) + " ";
  }
  Outcome align(const std::string& source, const std::string& target, const std::string& options = "") const {
    return run_jumok("align" + pairs(source, target) + options);
  }
  void expect_failure(const Outcome& o, const std::string& message, int status = 1) const {
    EXPECT_EQ(o.status, status);
    EXPECT_EQ(o.out, "");
    EXPECT_NE(o.err.find(message), std::string::npos) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  }

  TemporaryFolder folder_;
};

TEST_F(AlignCommand, LinksAreSourceTargetFromZeroALineAPair) {
  const Outcome o = align("3 1 4\n\n7\n", "4 1 3\n\n7\n", "--layer 1");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(o.out, "0-2 1-1 2-0\n\n0-0\n");
}

TEST_F(AlignCommand, EmptyAndBlankSidesGiveAnEmptyLine) {
  EXPECT_EQ(align("\n3\n \n", "\n\n3\n").out, "\n\n\n");
  EXPECT_EQ(align("3", "3").out, "0-0\n") << "a last line without LF counts";
}

TEST_F(AlignCommand, TwoThousandWordsAreCutToTheModelsPositionsWithOneWarning) {
  std::string line = "1";
  for (int i = 1; i < 2000; ++i) line += " " + std::to_string(i % 10);
  const Outcome o = align("3 1 4\n" + line + "\n7\n", "4 1 3\n1 2\n7\n", "--layer 1 --matrix json " + quoted("m.json"));
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 3);
  EXPECT_EQ(o.err, "jumok: source line 2: 2000 symbols, the model takes 15: the rest is cut off\n");
}

TEST_F(AlignCommand, ThresholdsLeaveLinksOutOrAllowSeveral) {
  EXPECT_EQ(align("3 1 4\n", "4 1 3\n", "--threshold 1").out, "\n");
  const std::string all = align("3 1\n", "1 3\n", "--links threshold --threshold 0").out;
  EXPECT_EQ(all, "0-0 0-1 1-0 1-1\n");
  expect_failure(align("3\n", "3\n", "--threshold 1.5"), "--threshold", 2);
}

// The model serves as its own reverse: a line turned round twice is the line.
TEST_F(AlignCommand, BothDirectionsBecomeOneAlignmentSourceFirst) {
  const std::string reverse = "--layer 1 --reverse-model '" + kModel + "' --reverse-layer 1 ";
  for (const char* how : {"intersection", "union", "grow-diag-final-and"}) {
    EXPECT_EQ(align("3 1 4 5\n\n", "5 4 1 3\n\n", reverse + "--symmetrise " + how).out, "0-3 1-2 2-1 3-0\n\n") << how;
  }
  // Targets of another length tell source from target: one target word, three source words that each choose it.
  EXPECT_EQ(align("3 1 4\n", "4\n", reverse + "--symmetrise union").out, "0-0 1-0 2-0\n");
  const Outcome forward = align("3 1 4\n", "4\n", "--layer 1");
  EXPECT_EQ(align("3 1 4\n", "4\n", reverse + "--symmetrise intersection").out, forward.out);
  EXPECT_EQ(align("3 1 4\n", "4\n", reverse).out, align("3 1 4\n", "4\n", reverse + "--symmetrise grow-diag-final-and").out);
}

TEST_F(AlignCommand, TheAttentionOfLowestErrorIsChosenAndTheTableSaysSo) {
  std::string links, line;  // the fifty unseen lines, each digit linked to its mirror image
  std::ifstream lines(kModel + "/unseen.source");
  while (std::getline(lines, line)) {
    const auto digits = static_cast<int>(line.size() + 1) / 2;
    for (int i = 0; i < digits; ++i) links += std::to_string(i) + "-" + std::to_string(digits - 1 - i) + " ";
    links += "\n";
  }
  const std::string gold =
      "--choose " + file("gold", links) + " --choose-source '" + kModel + "/unseen.source' --choose-target '" + kModel + "/unseen.target' ";
  const Outcome o = align("3 1 4 7 7\n", "7 7 4 1 3\n", gold);
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out, "0-4 1-3 2-2 3-1 4-0\n");
  EXPECT_NE(o.err.find("gold, 50 pairs\n"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("chosen: --layer 1"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("AER = 0.0"), std::string::npos) << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 7) << "a title, names, two layers × two steps, the choice:\n" << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '*'), 1) << o.err;
  // The options it names repeat it.
  const size_t begin = o.err.find("--layer");
  EXPECT_EQ(align("3 1 4 7 7\n", "7 7 4 1 3\n", o.err.substr(begin, o.err.find(": AER") - begin)).out, o.out);
  const Outcome both = align("3 1 4\n", "4 1 3\n", gold + "--reverse-model '" + kModel + "'");
  EXPECT_EQ(both.out, "0-2 1-1 2-0\n");
  EXPECT_NE(both.err.find("chosen: --reverse-layer 1"), std::string::npos) << both.err;
}

TEST_F(AlignCommand, UnfitGoldIsRefusedNamingItsLineAndNothingIsWritten) {
  const std::string text =
      " --choose-source " + file("gs", "5 9\n8 0\n") + " --choose-target " + file("gt", "9 5\n0 8\n") + " --matrix tsv " + quoted("m.tsv");
  expect_failure(align("3\n", "3\n", "--choose " + file("gold", "0-1 1-0\n0-2\n") + text), "gold:2: expected a target word from 0 to 1");
  expect_failure(align("3\n", "3\n", "--choose " + file("gold", "0-1\n") + text), "gold: expected 2 lines");
  expect_failure(align("3\n", "3\n", "--choose " + file("gold", "0-1\nx\n") + text), "gold:2: expected links like 0-1");
  EXPECT_FALSE(fs::exists(folder_ / "m.tsv"));
}

TEST_F(AlignCommand, WrongUsageIsToldFromFailedWork) {
  expect_failure(align("3\n", "3\n", "--symmetrise union"), "--reverse-model", 2);
  expect_failure(align("3\n", "3\n", "--choose x"), "--choose-source", 2);
  expect_failure(align("3\n", "3\n", "--matrix png x"), "--matrix", 2);
  expect_failure(align("3\n", "3\n", "--matrix json"), "--matrix", 2);
  expect_failure(align("3\n", "3\n", "--head 2"), "attention head 2: expected 0 to 1", 2);
  expect_failure(align("3\n3\n", "3\n"), "source");
  expect_failure(align("3\n", "3\n", "--matrix json " + quoted("nowhere/x.json")), "nowhere/x.json");
}

TEST_F(AlignCommand, JsonHasALineAPairWithEveryLayerAndHead) {
  ASSERT_EQ(align("3 1 4\n\n", "4 1\n\n", "--matrix json " + quoted("m.json")).status, 0);
  std::ifstream in(folder_ / "m.json");
  std::string line;
  std::getline(in, line);
  const json first = json::parse(line);
  EXPECT_EQ(first.at("pair"), 0);
  EXPECT_EQ(first.at("source").size(), 4u);
  EXPECT_EQ(first.at("target").size(), 3u);
  ASSERT_EQ(first.at("maps").size(), 4u);
  EXPECT_EQ(first.at("maps")[3].at("layer"), 1);
  EXPECT_EQ(first.at("maps")[2].at("head"), 0);
  for (const auto& map : first.at("maps")) {
    ASSERT_EQ(map.at("weights").size(), 3u);
    for (const auto& row : map.at("weights")) {
      ASSERT_EQ(row.size(), 4u);
      double sum = 0;
      for (const double w : row) sum += w;
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  std::getline(in, line);
  EXPECT_EQ(json::parse(line).at("source"), json::array());
  EXPECT_FALSE(std::getline(in, line));
}

TEST_F(AlignCommand, TsvHasALineAWeight) {
  ASSERT_EQ(align("3 1\n7\n", "1 3\n7\n", "--matrix tsv " + quoted("m.tsv") + " --matrix-pairs 1").status, 0);
  const std::string text = read_file(folder_ / "m.tsv");
  EXPECT_EQ(text.rfind("pair\tlayer\thead\ttarget\tsource\ttarget_symbol\tsource_symbol\tweight\n0\t0\t0\t0\t0\t", 0), 0u) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 2 * 2 * 3 * 3);
  EXPECT_NE(text.find("\n0\t1\t1\t2\t2\t</s>\t</s>\t"), std::string::npos);
}

TEST_F(AlignCommand, TheHtmlPageShowsTheFirstTwentyPairsUnlessMoreAreWanted) {
  std::string lines;
  for (int i = 0; i < 22; ++i) lines += "3 1\n";
  ASSERT_EQ(align(lines, lines, "--matrix html " + quoted("m.html")).status, 0);
  const std::string page = read_file(folder_ / "m.html");
  EXPECT_NE(page.find("Sentence 20<"), std::string::npos);
  EXPECT_EQ(page.find("Sentence 21<"), std::string::npos);
  ASSERT_EQ(align(lines, lines, "--matrix html " + quoted("m.html") + " --matrix-pairs 22").status, 0);
  EXPECT_NE(read_file(folder_ / "m.html").find("Sentence 22<"), std::string::npos);
}

TEST_F(AlignCommand, NpyFilesAreThoseThatNumpyReads) {
  const Outcome o = align("3 1 4\n\n7\n", "4 1\n\n7\n", "--matrix npy " + quoted("m") + " --matrix json " + quoted("m.json"));
  ASSERT_EQ(o.status, 0) << o.err;
  expect_failure(align("3\n", "3\n", "--matrix npy " + quoted("m")), "expected a new or an empty folder");
  if (run_shell("python3 -c 'import numpy'").status != 0) GTEST_SKIP() << "python3 has no numpy";
  const auto script = file("read.py",
                           "import json, sys, numpy\n"
                           "folder, lines = sys.argv[1], open(sys.argv[2])\n"
                           "symbols = open(folder + '/symbols.jsonl')\n"
                           "for number, (line, names) in enumerate(zip(lines, symbols)):\n"
                           "    a, pair, names = numpy.load(f'{folder}/{number:06}.npy'), json.loads(line), json.loads(names)\n"
                           "    assert a.dtype == numpy.float32 and a.flags.c_contiguous\n"
                           "    assert a.shape == (2, 2, len(names['target']), len(names['source'])), a.shape\n"
                           "    assert names['source'] == pair['source'] and names['target'] == pair['target']\n"
                           "    for m in pair['maps']:\n"
                           "        if a.size: numpy.testing.assert_allclose(a[m['layer'], m['head']], m['weights'], rtol=1e-5)\n"
                           "    print(a.shape)\n");
  const Outcome read = run_shell("python3 " + script + " " + quoted("m") + " " + quoted("m.json"));
  EXPECT_EQ(read.status, 0) << read.err;
  EXPECT_EQ(read.out, "(2, 2, 3, 4)\n(2, 2, 0, 0)\n(2, 2, 2, 2)\n");
}

// numpy/lib/format.py, version 1.0: magic, version, two bytes of header length, header padded so that the data begin at a multiple of 64.
TEST(NpyBytes, AreFormatOneLittleEndianInCOrder) {
  const std::vector<float> values = {1, -2, 0.5f, 3, 4, 5};
  const std::vector<size_t> shape = {2, 3};
  const std::string bytes = npy_bytes(values, shape);
  ASSERT_EQ(bytes.size(), 128u + 24);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,), ");
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(bytes.substr(128, 8), std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8));
  // Whatever the header's length, data begin at a multiple of 64.
  for (size_t n = 0; n < 70; ++n) {
    const std::vector<size_t> ones(n, 1);
    EXPECT_EQ((npy_bytes(std::vector<float>{1}, ones).size() - 4) % 64, 0u) << n;
  }
  EXPECT_ANY_THROW(npy_bytes(values, std::vector<size_t>{2, 2}));
}

}  // namespace
}  // namespace jumok
