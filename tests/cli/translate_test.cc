// jumok translate, score and info with the little model that turns lines of digits round (tests/translate/data/reverse-digits).
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "arriving_input.h"
#include "base/error.h"
#include "base/file.h"
#include "json_text.h"
#include "program.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;
const fs::path kModel = fs::path(JUMOK_TEST_DATA).parent_path().parent_path() / "translate/data/reverse-digits";

class TranslateCommand : public testing::Test {
 protected:
  // The path as shell text: the folder's name has a space.
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return "'" + (folder_ / name) + "'";
  }
  Outcome translate(const std::string& input, const std::string& options = "") const {
    return run_jumok("translate " + options + model_ + " < " + file("input", input));
  }
  // The translations of `input`, which must come without any message.
  std::string text(const std::string& input, const std::string& options = "") const {
    const Outcome o = translate(input, options);
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.err, "");
    return o.out;
  }
  // A copy of the model, for damage.
  std::string copied_model() const {
    fs::copy(kModel, folder_ / "copy", fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    return folder_ / "copy";
  }
  void replace(const std::string& path, const std::string& old, const std::string& with) const {
    std::string bytes = read_file(path);
    const size_t at = bytes.find(old);
    ASSERT_NE(at, std::string::npos);
    std::ofstream(path, std::ios::binary) << bytes.replace(at, old.size(), with);
  }
  void expect_failure(const Outcome& o, const std::string& message) const {
    EXPECT_EQ(o.status, 1);
    EXPECT_EQ(o.out, "");
    EXPECT_NE(o.err.find(message), std::string::npos) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  }

  TemporaryFolder folder_;
  const std::string model_ = " --model '" + kModel.string() + "'";
};

TEST_F(TranslateCommand, AFileComesOutTranslatedLineByLine) {
  const Outcome o = run_jumok("translate" + model_ + " < '" + (kModel / "unseen.source").string() + "'");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(o.out, read_file(kModel / "unseen.target"));
}

TEST_F(TranslateCommand, EmptyLinesStayEmptyAndNothingGivesNothing) {
  EXPECT_EQ(text("\n1 2 3\n\n4 5\n\n"), "\n3 2 1\n\n5 4\n\n");
  EXPECT_EQ(text("\n\n\n"), "\n\n\n");
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text(" \n   \n\t\n\xC2\xA0\n\xE3\x80\x80\n"), "\n\n\n\n\n");
}

TEST_F(TranslateCommand, LineEndsAndByteOrderMarksAreNoText) {
  EXPECT_EQ(text("\xEF\xBB\xBF"
                 "1 2 3\r\n4 5"),
            "3 2 1\n5 4\n");
  const Outcome o = translate(
      "1\xE2\x80\xA8"
      "2\xE2\x80\xA9"
      "3\xC2\x85"
      "4\v5\f6\n7 8 9\n");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out, "6 5 4 3 2 1\n9 8 7\n");
}

TEST_F(TranslateCommand, NulAndBadUtf8KeepTheLineCountAndGiveOneWarning) {
  const Outcome o = translate(std::string("1 2 3\n4 ") + '\0' + " 5\n\xC0\xAF 7 8\nab\xE2\x82\n9 8 7\n");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 5);
  EXPECT_EQ(o.out.substr(0, 6), "3 2 1\n");
  EXPECT_EQ(o.out.substr(o.out.size() - 7), "\n7 8 9\n");
  EXPECT_NE(o.err.find("standard input: 3 of 5 lines"), std::string::npos) << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
}

// The names of the control symbols are text like other text: no line ends there, and none goes missing.
TEST_F(TranslateCommand, ControlSymbolsWrittenOutAreText) {
  const Outcome o = translate("1 </s> 2\n<s>\n1 2\n");
  EXPECT_EQ(o.status, 0);
  ASSERT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 3) << o.out;
  EXPECT_NE(o.out.substr(0, o.out.find('\n')), text("1\n").substr(0, 1)) << "the end symbol's name ended the source";
  EXPECT_TRUE(o.out.ends_with("\n2 1\n")) << o.out;
}

// JSON has no NUL: in text it is U+FFFD, as everywhere.
TEST_F(TranslateCommand, NoNulGetsIntoJson) {
  const Outcome o = translate(std::string("1 \0 2\n", 6), "--alignments json");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out.find('\0'), std::string::npos);
  const auto json = nlohmann::json::parse(o.out.substr(o.out.find("||| ") + 4));
  EXPECT_EQ(json.at("source")[1], "\uFFFD") << o.out;
}

TEST_F(TranslateCommand, LinesBeyondTheLastPositionAreCutAndSaid) {
  const auto digits = [](int count) {
    std::string line = "1";
    for (int i = 1; i < count; ++i) line += " " + std::to_string(i % 10);
    return line + "\n";
  };
  const Outcome o = translate(digits(15) + digits(16) + digits(17) + digits(200) + std::string(100000, 'x') + "\n1 2 3\n");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 6);
  EXPECT_EQ(o.out.substr(o.out.size() - 6), "3 2 1\n");
  for (const char* wanted : {"line 2: 16 symbols, the model takes 15", "line 3: 17 symbols", "line 4: 200 symbols"}) {
    EXPECT_NE(o.err.find(wanted), std::string::npos) << o.err;
  }
  EXPECT_EQ(o.err.find("line 1:"), std::string::npos) << o.err;
}

TEST_F(TranslateCommand, WindowsBatchesAndThreadsGiveTheSameBytes) {
  std::string input;
  for (int i = 0; i < 1000; ++i) input += std::to_string(i % 10) + " " + std::to_string(i / 10 % 10) + (i % 7 == 0 ? "\n\n" : " 3\n");
  const std::string expected = text(input, "--nbest 2 --beam 2");
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 2 * 1000 + 143);
  for (const char* options :
       {"--window 1", "--window 10", "--window 999", "--window 5000", "--batch-tokens 1 --window 300", "--threads 1", "--threads 2"}) {
    EXPECT_TRUE(text(input, std::string("--nbest 2 --beam 2 ") + options) == expected) << options;
  }
}

TEST_F(TranslateCommand, NBestLinesHoldNumberTextAndScore) {
  std::istringstream lines(text("1 2 3\n\n4 5\n", "--nbest 3"));
  const std::vector<std::string> ids = {"0", "0", "0", "1", "2", "2", "2"};
  std::string line;
  double last = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    const size_t a = line.find(" ||| "), b = line.rfind(" ||| ");
    ASSERT_TRUE(a != std::string::npos && a < b) << line;
    EXPECT_EQ(line.substr(0, a), ids[i]);
    const double score = std::stod(line.substr(b + 5));
    EXPECT_TRUE(i == 0 || ids[i] != ids[i - 1] || score <= last) << line;
    last = score;
    EXPECT_TRUE(i > 0 || line.substr(a + 5, b - a - 5) == "3 2 1") << line;
    EXPECT_TRUE(i != 3 || line == "1 |||  ||| 0.000000") << line;
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(TranslateCommand, AlignmentsAreAppendedOrGoToAFile) {
  EXPECT_EQ(text("1 2 3\n\n", "--alignments pharaoh --alignment-layer 1"), "3 2 1 ||| 0-2 1-1 2-0\n ||| \n");
  EXPECT_EQ(text("1 2 3\n\n", "--alignment-layer 1 --alignments-output " + file("links", "old")), "3 2 1\n\n");
  EXPECT_EQ(read_file(folder_ / "links"), "0-2 1-1 2-0\n\n");
  const std::string line = text("1 2 3\n", "--alignments json --alignment-layer 1");
  ASSERT_EQ(line.substr(0, 10), "3 2 1 ||| ");
  const auto json = nlohmann::json::parse(line.substr(10));
  EXPECT_EQ(json.at("source"), (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(json.at("target"), (std::vector<std::string>{"3", "2", "1"}));
  EXPECT_EQ(json.at("links"), nlohmann::json::parse("[[0, 2], [1, 1], [2, 0]]"));
  EXPECT_EQ(json.at("layer"), "decoder.layers.1.cross_attention");
  const std::string blank = text("\n1\n", "--alignments json --alignment-layer 1");
  EXPECT_NE(blank.substr(0, blank.find('\n')).find("\"layer\": \"decoder.layers.1.cross_attention\""), std::string::npos) << blank;
  ASSERT_EQ(json.at("weights").size(), 3u);
  EXPECT_GT(json["weights"][0][2].get<double>(), 0.5);
}

TEST_F(TranslateCommand, TheAttentionPageIsWritten) {
  const std::string page = folder_ / "page.html";
  EXPECT_EQ(text("1 2 3\n\n4 5\n", "--attention-html '" + page + "'"), "3 2 1\n\n5 4\n");
  const std::string html = read_file(page);
  EXPECT_NE(html.find("1 2 3"), std::string::npos);
  EXPECT_NE(html.find("Sentence 3<"), std::string::npos);  // named as its line
  EXPECT_EQ(html.find("Sentence 2<"), std::string::npos);
  EXPECT_NE(html.find("</html>"), std::string::npos);
}

// Whoever feeds a pipe line by line gets answers line by line, also while the next line is only half there.
TEST_F(TranslateCommand, ASlowPipeIsAnsweredBeforeItsNextLineComes) {
  const std::string in = "'" + (folder_ / "in") + "'", out = "'" + (folder_ / "out") + "'";
  const Outcome o = run_shell("mkfifo " + in + " " + out + "; \"$JUMOK_CLI\" translate" + model_ + " <" + in + " >" + out + " & exec 3>" +
                              in + " 4<" + out +
                              "; printf '1 2 3\\n4 5' >&3; timeout 60 head -n 1 <&4 && printf ' 6\\n' >&3 && timeout 60 head -n 1 <&4"
                              " && printf '7 8' >&3; exec 3>&-; cat <&4; wait $!");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, "3 2 1\n6 5 4\n8 7\n");
}

TEST_F(TranslateCommand, ModelsThatCannotBeReadAreNamed) {
  expect_failure(run_jumok("translate --model '" + (folder_ / "none") + "'"), "none: expected a model directory, found nothing there");
  expect_failure(run_jumok("translate --model " + file("a file", "x")), "a file: expected a model directory, found a file");
  const std::string copy = copied_model(), command = "translate --model '" + copy + "'";
  replace(copy + "/config.json", "\"format_version\": 1", "\"format_version\": 999");
  expect_failure(run_jumok(command), "newer jumok");
  copied_model();
  fs::remove(copy + "/joint.spm");
  expect_failure(run_jumok(command), "joint.spm");
  copied_model();
  fs::resize_file(copy + "/model.safetensors", 100000);
  expect_failure(run_jumok(command), "model.safetensors");
  copied_model();
  replace(copy + "/config.json", "\"model.width\": 32", "\"model.width\": 48");
  expect_failure(run_jumok(command), "expected shape");
  copied_model();
  std::ofstream(copy + "/config.json") << "{";
  expect_failure(run_jumok(command), "config.json");
}

TEST_F(TranslateCommand, UnreadableInputAndFullDisksFail) {
  expect_failure(run_jumok("translate" + model_ + " < /tmp"), "standard input: cannot be read: Is a directory");
  expect_failure(run_jumok("translate" + model_ + " <&-"), "standard input: cannot be read");
  const std::string input = file("input", "1 2 3\n");
  expect_failure(run_jumok("translate" + model_ + " < " + input + " > /dev/full"),
                 "standard output: cannot be written: No space left on device");
  const Outcome o = run_jumok("translate" + model_ + " --alignments-output /dev/full < " + input);
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("/dev/full"), std::string::npos) << o.err;
  const Outcome nowhere = run_jumok("translate" + model_ + " --alignments-output /nowhere/at/all < " + input);
  expect_failure(nowhere, "/nowhere/at/all");
}

TEST_F(TranslateCommand, AFailedRunLeavesTheOldAlignmentsInPlace) {
  const std::string links = file("links", "old\n");
  EXPECT_EQ(run_jumok("translate" + model_ + " --alignments-output " + links + " < /tmp").status, 1);
  EXPECT_EQ(read_file(folder_ / "links"), "old\n");
}

TEST_F(TranslateCommand, WrongUsageIsToldApart) {
  for (const char* options : {"--nbest 5", "--beam 0", "--alignments moses", "--window 0", "--alpha -1", "--nonsense"}) {
    const Outcome o = translate("1\n", options);
    EXPECT_EQ(o.status, 2) << options;
    EXPECT_EQ(o.out, "") << options;
  }
  for (const char* options : {"--alpha nan", "--alpha inf", "--beam 1.5", "--max-length 99999999999999999999", "--alignment-layer 0"}) {
    EXPECT_EQ(translate("1\n", options).status, 2) << options;
  }
  const Outcome layer = translate("1\n", "--alignments pharaoh --alignment-layer 2");
  EXPECT_EQ(layer.status, 2);
  EXPECT_NE(layer.err.find("expected 0 to 1"), std::string::npos) << layer.err;
}

TEST_F(TranslateCommand, TranslationsCutAtTheLengthLimitAreCountedInOneWarning) {
  const Outcome o = translate("\n1 2 3\n1\n4 5 6\n", "--max-length 2 --beam 1");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.err, "jumok: 2 of 4 translations reached the length limit (--max-length) and end there, the first is of line 2\n");
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 4);
  const Outcome json = translate("1\n1 2 3\n", "--max-length 2 --beam 1 --alignments json");
  std::istringstream lines(json.out);
  for (const bool cut : {false, true}) {
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(nlohmann::json::parse(line.substr(line.find(" ||| ") + 5)).at("cut"), cut) << line;
  }
}

// A folder that is not there must not be noticed after hours of translation.
TEST_F(TranslateCommand, PlacesThatCannotBeWrittenAreNoticedBeforeTheFirstTranslation) {
  const std::string input = file("input", "1 2 3\n");
  for (const char* option : {"--attention-html", "--alignments-output"}) {
    for (const std::string& place : {std::string("/nowhere/at/all"), folder_ / "."}) {
      expect_failure(run_jumok("translate" + model_ + " " + option + " '" + place + "' < " + input), place);
    }
  }
}

// Expected values: golden.tsv, computed by PyTorch.
TEST_F(TranslateCommand, ScorePrintsALogProbabilityALineAndASummary) {
  std::istringstream golden(read_file(kModel / "golden.tsv"));
  std::string sources, targets, field;
  std::vector<double> expected;
  while (std::getline(golden, field, '\t')) {
    sources += field + "\n";
    std::getline(golden, field, '\t');
    targets += field + "\n";
    std::getline(golden, field);
    expected.push_back(std::stod(field));
  }
  const Outcome o = run_jumok("score" + model_ + " --source " + file("s", sources) + " --target " + file("t", targets));
  EXPECT_EQ(o.status, 0);
  std::istringstream found(o.out);
  for (const double e : expected) {
    ASSERT_TRUE(std::getline(found, field));
    EXPECT_NEAR(std::stod(field), e, 1e-4);
  }
  EXPECT_FALSE(std::getline(found, field));
  EXPECT_NE(o.err.find(std::to_string(expected.size()) + " lines, "), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("perplexity"), std::string::npos) << o.err;
}

TEST_F(TranslateCommand, ScoreRefusesUnequalAndMissingFiles) {
  const std::string two = file("two", "1\n2\n"), one = file("one", "1\n");
  expect_failure(run_jumok("score" + model_ + " --source " + two + " --target " + one), "found 2 and 1");
  expect_failure(run_jumok("score" + model_ + " --source /nowhere --target " + one), "/nowhere");
}

TEST_F(TranslateCommand, InfoListsFactsAndFilesAlignedOrAsJson) {
  const Outcome plain = run_jumok("info" + model_);
  EXPECT_EQ(plain.status, 0);
  EXPECT_NE(plain.out.find("\nmodel.width "), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("model.safetensors "), std::string::npos) << plain.out;
  const auto json = nlohmann::json::parse(run_jumok("info --json" + model_).out);
  EXPECT_EQ(json.at("facts").at("model.width"), 32);
  EXPECT_EQ(json.at("facts").at("model.norm"), "pre");
  EXPECT_EQ(json.at("files").at("model.safetensors"), fs::file_size(kModel / "model.safetensors"));
  expect_failure(run_jumok("info --model /nowhere"), "/nowhere: expected a model directory");
}

// --- the parts --------------------------------------------------------------------------------------------------------------------------

class ArrivingInputTest : public testing::Test {
 protected:
  ArrivingInputTest() { check(::pipe(ends_.data()) == 0, "no pipe"); }
  ~ArrivingInputTest() override {
    ::close(ends_[0]);
    close_end();
  }
  void send(const std::string& bytes) { ASSERT_EQ(::write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size())); }
  void close_end() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

  std::array<int, 2> ends_{};
};

TEST_F(ArrivingInputTest, KnowsWholeLinesFromHalfOnes) {
  ArrivingInput input(ends_[0], "pipe");
  std::istream stream(&input);
  std::string line;
  EXPECT_FALSE(input.line_arrived());
  send("one\ntw");
  EXPECT_TRUE(input.line_arrived());
  std::getline(stream, line);
  EXPECT_EQ(line, "one");
  EXPECT_FALSE(input.line_arrived());
  send("o\n\nlast");
  for (const char* expected : {"two", ""}) {
    EXPECT_TRUE(input.line_arrived());
    std::getline(stream, line);
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(input.line_arrived());
  close_end();
  EXPECT_TRUE(input.line_arrived());  // nothing more will come
  std::getline(stream, line);
  EXPECT_EQ(line, "last");
  EXPECT_TRUE(input.line_arrived());
  EXPECT_FALSE(std::getline(stream, line));
  EXPECT_EQ(input.bytes_read(), 4 + 4 + 1 + 4);
}

TEST_F(ArrivingInputTest, LinesLongerThanAReadArriveWhole) {
  ArrivingInput input(ends_[0], "pipe");
  std::istream stream(&input);
  const std::string piece(40000, 'x');
  for (int i = 0; i < 5; ++i) {
    send(piece);
    EXPECT_FALSE(input.line_arrived());
  }
  send("\n");
  input.await_line();
  std::string line;
  std::getline(stream, line);
  EXPECT_EQ(line.size(), 5 * piece.size());
}

TEST(JsonText, EscapesWhatJsonDemandsAndNothingElse) {
  EXPECT_EQ(json_string("a\"b\\c\n\t\x01 주목 /"), "\"a\\\"b\\\\c\\u000a\\u0009\\u0001 주목 /\"");
  const std::string text = "a\"b\\c\n\t\x01 주목 /";
  EXPECT_EQ(nlohmann::json::parse(json_string(text)), text);
}

TEST(JsonText, OnlyWhatJsonReadsAsANumberGoesWithoutQuotes) {
  for (const char* number : {"0", "-1", "1e-09", "0.5", "182480", "true", "false"}) {
    EXPECT_EQ(json_value(number), number);
    EXPECT_TRUE(nlohmann::json::accept(json_value(number))) << number;
  }
  for (const char* word : {"", "+1", "01", ".5", "5.", "inf", "nan", "0x10", "1 2", "-", "null", "pre"}) {
    EXPECT_EQ(json_value(word), json_string(word));
  }
}

}  // namespace
}  // namespace jumok
