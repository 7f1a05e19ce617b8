#include "text/lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "jumok/error.h"
#include "text/unicode.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using Lines = std::vector<std::string>;

struct Log {
  std::vector<std::string> warnings;
  LogSink sink() {
    return [this](LogLevel, const std::string& text) { warnings.push_back(text); };
  }
};

class LinesTest : public testing::Test {
 protected:
  LinesTest() : folder_(fs::temp_directory_path() / ("jumok-lines-" + std::to_string(::getpid()))) { fs::create_directories(folder_); }
  ~LinesTest() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, const std::string& bytes) const {
    write_file(folder_ / name, bytes);
    return folder_ / name;
  }
  Lines lines_of(const std::string& bytes) { return read_lines(file("text", bytes), log_.sink()); }
  std::string error_of(const fs::path& a, const fs::path& b) const {
    try {
      read_parallel(a, b);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
  Log log_;
};

TEST_F(LinesTest, EmptyLinesAndFilesKeepTheirCount) {
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("\n\n\n"), (Lines{"", "", ""}));
  EXPECT_EQ(lines_of("\na\n\nb\n\n"), (Lines{"", "a", "", "b", ""}));
  EXPECT_TRUE(log_.warnings.empty());
}

TEST_F(LinesTest, ALastLineWithoutLfCounts) { EXPECT_EQ(lines_of("a\nb"), (Lines{"a", "b"})); }

TEST_F(LinesTest, CrlfEndsALineAndALoneCrDoesNot) {
  EXPECT_EQ(lines_of("a\r\nb\r\n\r\n"), (Lines{"a", "b", ""}));
  EXPECT_TRUE(log_.warnings.empty());
  EXPECT_EQ(lines_of("a\rb\nc\r"), (Lines{"a b", "c "}));
  EXPECT_EQ(log_.warnings.size(), 1u);
}

TEST_F(LinesTest, NothingButLfEndsALine) {
  const auto lines = lines_of("one\u2028two\u2029three\u0085four\vfive\fsix\nnext\n");
  EXPECT_EQ(lines, (Lines{"one two three four five six", "next"}));
  ASSERT_EQ(log_.warnings.size(), 1u);
}

TEST_F(LinesTest, ByteOrderMarkIsNoPartOfTheFirstWordAndNoReasonToWarn) {
  EXPECT_EQ(lines_of("\xEF\xBB\xBFHouse\nDoor\n"), lines_of("House\nDoor\n"));
  EXPECT_EQ(lines_of("\xEF\xBB\xBF"), Lines{""});
  EXPECT_EQ(lines_of("a\n\xEF\xBB\xBF"
                     "b\n"),
            (Lines{"a",
                   "\uFEFF"
                   "b"}));  // kept inside, as documented
  EXPECT_TRUE(log_.warnings.empty());
}

TEST_F(LinesTest, OneWarningAFileNamesItTheCountAndTheFirstLine) {
  EXPECT_EQ(lines_of("ok\n\xC0\xAF\nfine\nab\0cd\n"s), (Lines{"ok", "\uFFFD\uFFFD", "fine",
                                                              "ab\uFFFD"
                                                              "cd"}));
  ASSERT_EQ(log_.warnings.size(), 1u);
  EXPECT_NE(log_.warnings[0].find((folder_ / "text").string()), std::string::npos);
  EXPECT_NE(log_.warnings[0].find("2 of 4 lines"), std::string::npos) << log_.warnings[0];
  EXPECT_NE(log_.warnings[0].find("first is line 2"), std::string::npos) << log_.warnings[0];
}

TEST_F(LinesTest, LinesOfAnyLengthAreWhole) {
  const std::string without_space(100000, 'x');
  std::string words;
  for (int i = 0; i < 20000; ++i) words += "wort ";
  EXPECT_EQ(lines_of("a\n" + without_space + "\n" + words + "\nb"), (Lines{"a", without_space, words, "b"}));
  EXPECT_TRUE(log_.warnings.empty());
}

// A pipe: what was written must be readable before the stream ends.
TEST_F(LinesTest, AStreamGivesEachLineAsItArrives) {
  std::stringstream pipe;
  LineReader reader(pipe, "standard input", log_.sink());
  std::string line;
  pipe << "first\nsecond\xFF\n";
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "first");
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "second\uFFFD");
  EXPECT_TRUE(log_.warnings.empty());
  EXPECT_FALSE(reader.next(line));
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(log_.warnings.size(), 1u);
}

TEST_F(LinesTest, AStreamThatBreaksIsAnError) {
  struct Broken : std::streambuf {
    int underflow() override { throw std::runtime_error("unplugged"); }
  } buffer;
  std::istream stream(&buffer);
  LineReader reader(stream, "standard input");
  std::string line;
  EXPECT_THROW(reader.next(line), Error);
}

TEST_F(LinesTest, WrittenTextsAreOneLineEach) {
  write_lines(folder_ / "out.gz", Lines{"a", "", "b\nc\r\n", "d\u2028e\xFF"});
  EXPECT_EQ(read_file(folder_ / "out.gz"), "a\n\nb c  \nd e\uFFFD\n");
  EXPECT_EQ(read_lines(folder_ / "out.gz").size(), 4u);
  write_lines(folder_ / "none", Lines{});
  EXPECT_EQ(read_file(folder_ / "none"), "");
}

TEST_F(LinesTest, UnequalFilesAreRefusedWithNamesAndCounts) {
  const auto a = file("a.en", "1\n2\n3\n"), b = file("b.ko", "1\n2\n");
  const auto error = error_of(a, b);
  for (const auto& part : {a.string(), b.string(), "3"s, "2"s}) EXPECT_NE(error.find(part), std::string::npos) << error;
  EXPECT_EQ(read_parallel(a, file("c.ko", "x\r\ny\r\nz")).target, (Lines{"x", "y", "z"}));
}

TEST_F(LinesTest, MissingEmptyAndTruncatedFilesAreRefusedByName) {
  const auto good = file("good", "a\n");
  EXPECT_NE(error_of(good, folder_ / "missing").find("missing"), std::string::npos);
  EXPECT_NE(error_of(folder_, good).find("directory"), std::string::npos);
  EXPECT_NE(error_of(file("e1", ""), file("e2", "")).find("e2"), std::string::npos);
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919) + "\n";
  const auto zipped = file("t.gz", text);
  ASSERT_EQ(read_lines(zipped).size(), 5000u);
  fs::resize_file(zipped, fs::file_size(zipped) / 2);
  EXPECT_NE(error_of(zipped, good).find("cut short"), std::string::npos) << error_of(zipped, good);
}

}  // namespace
}  // namespace jumok
