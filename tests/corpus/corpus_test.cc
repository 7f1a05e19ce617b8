// From files to a written corpus.
#include "corpus/corpus.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "corpus/catalogue_pairs.h"
#include "corpus/help_pages.h"
#include "corpus/html_text.h"
#include "jumok/error.h"
#include "text/lines.h"

namespace jumok {
namespace {
namespace fs = std::filesystem;

class CorpusTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("jumok-corpus-" + std::string(test->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path put(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, bytes);
    return folder_ / name;
  }

  static std::vector<TextPair> gather(const std::function<void(const PairSink&)>& read) {
    std::vector<TextPair> pairs;
    read([&](TextPair&& pair) { pairs.push_back(std::move(pair)); });
    return pairs;
  }

  // The one-line text of the Error that `work` throws.
  static std::string error_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    ADD_FAILURE() << "no Error";
    return {};
  }

  fs::path folder_;
};

TEST_F(CorpusTest, QuotesInTsvArePlainCharacters) {
  const auto file = put("a.tsv", "5 inch \" tall\t키 5인치\"\n\"open\t\"열기\n\"x\" y\t'z'\n");
  const auto pairs = gather([&](const PairSink& sink) { read_tsv(file, {}, sink); });
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].source, "5 inch \" tall");
  EXPECT_EQ(pairs[1].source, "\"open");
  EXPECT_EQ(pairs[2].source, "\"x\" y");
  EXPECT_EQ(pairs[2].target, "'z'");
}

TEST_F(CorpusTest, RowsWithWrongFieldsAreNamedByLineAndShiftNoOther) {
  const auto file = put("a.tsv.gz", "\xEF\xBB\xBFone\t하나\r\nalone\na\tb\tc\n\t빈\n\t\nlast\t끝");
  const auto pairs = gather([&](const PairSink& sink) { read_tsv(file, {}, sink); });
  ASSERT_EQ(pairs.size(), 6U);
  EXPECT_EQ(pairs[0].source, "one");
  EXPECT_EQ(pairs[0].target, "하나");
  EXPECT_EQ(pairs[1].drop, Drop::kMalformed);
  EXPECT_TRUE(pairs[1].place.ends_with(":2"));
  EXPECT_EQ(pairs[2].drop, Drop::kMalformed);
  EXPECT_EQ(pairs[3].source, "");
  EXPECT_EQ(pairs[3].target, "빈");
  EXPECT_EQ(pairs[4].drop, Drop::kKept);
  EXPECT_EQ(pairs[5].target, "끝");
  const auto chosen = gather([&](const PairSink& sink) { read_tsv(file, {.source = 3, .target = 1}, sink); });
  EXPECT_EQ(chosen[2].source, "c");
  EXPECT_EQ(chosen[2].target, "a");
}

TEST_F(CorpusTest, LineSeparatorsInsideALineEndNoLine) {
  const auto source = put("a.en",
                          "one\xE2\x80\xA8two\xE2\x80\xA9three\xC2\x85"
                          "four\vfive\fsix words\nsecond line here\n");
  const auto target = put("a.ko", "하나 둘 셋 넷 다섯 여섯\n둘째 줄 여기\n");
  CorpusRequest options{.to = "ko", .pairs = {{source, target}}};
  write_corpus(build_corpus(options), folder_ / "out");
  EXPECT_EQ(read_lines(folder_ / "out/train.en"), (std::vector<std::string>{"one two three four five six words", "second line here"}));
}

TEST_F(CorpusTest, UnequalFilesAreRefusedWithBothCountsAndNothingIsWritten) {
  const auto source = put("a.en", "one\ntwo\nthree\n"), target = put("a.ko", "하나\n둘\n");
  const std::string error = error_of([&] { build_corpus({.to = "ko", .pairs = {{source, target}}}); });
  EXPECT_NE(error.find('3'), std::string::npos);
  EXPECT_NE(error.find('2'), std::string::npos);
}

TEST_F(CorpusTest, CatalogueMessagesArePairedAndCounted) {
  const auto sample = fs::path(JUMOK_TEST_DATA) / "sample.po";
  fs::create_directories(folder_ / "x/ko/LC_MESSAGES");
  fs::create_directories(folder_ / "x/de/LC_MESSAGES");
  fs::copy_file(fs::path(JUMOK_TEST_DATA) / "sample-be.mo", folder_ / "x/ko/LC_MESSAGES/a.mo");
  put("x/de/LC_MESSAGES/a.mo", "not looked at");
  put("x/po/any.po.gz", read_file(sample));  // its header says ko
  const Corpus corpus = build_corpus({.to = "ko", .catalogues = {folder_ / "x"}});
  const SourceReport& report = corpus.report.sources.at(0);
  EXPECT_EQ(report.read, 6U + 8U);
  EXPECT_EQ(report.dropped[static_cast<size_t>(Drop::kFuzzy)], 1U);
  EXPECT_EQ(report.dropped[static_cast<size_t>(Drop::kEmpty)], 1U);
  EXPECT_EQ(report.dropped[static_cast<size_t>(Drop::kPlaceholder)], 2U);
  EXPECT_EQ(report.dropped[static_cast<size_t>(Drop::kDuplicate)], 5U);
  EXPECT_EQ(report.kept, 5U);
  bool seen = false;
  for (const TextPair& pair : corpus.pairs) seen |= pair.source == "Open file" && pair.target == "파일 열기";
  EXPECT_TRUE(seen);
}

// The singular goes with the first form, the plural with the last: of three forms the middle one ("2 to 4") is neither.
TEST_F(CorpusTest, PluralFormsArePairedBySense) {
  const auto pairs_of = [&](const std::string& language, const std::string& forms) {
    const std::string header = "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\n";
    const fs::path file = put(language + "/po/" + language + ".po", header + "msgid \"one file\"\nmsgid_plural \"many files\"\n" + forms);
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const TextPair& p : gather([&](const PairSink& sink) { read_catalogues(file.parent_path(), "en", language, sink); }))
      pairs.emplace_back(p.source, p.target);
    return pairs;
  };
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(pairs_of("ko", "msgstr[0] \"파일\"\n"), (Pairs{{"many files", "파일"}}));
  EXPECT_EQ(pairs_of("de", "msgstr[0] \"eine Datei\"\nmsgstr[1] \"viele Dateien\"\n"),
            (Pairs{{"one file", "eine Datei"}, {"many files", "viele Dateien"}}));
  EXPECT_EQ(pairs_of("cs", "msgstr[0] \"soubor\"\nmsgstr[1] \"soubory\"\nmsgstr[2] \"souborů\"\n"),
            (Pairs{{"one file", "soubor"}, {"many files", "souborů"}}));
}

TEST_F(CorpusTest, CataloguesOfTwoLanguagesAreJoinedOnContextAndMessage) {
  const std::string header = "msgid \"\"\nmsgstr \"Language: ";
  const auto entry = [](const std::string& context, const std::string& text) {
    return (context.empty() ? "" : "msgctxt \"" + context + "\"\n") + "msgid \"Open\"\nmsgstr \"" + text + "\"\n";
  };
  put("po/de.po", header + "de\\n\"\n" + entry("menu", "Datei öffnen") + entry("", "offen") + entry("state", "geöffnet"));
  put("po/ko.po", header + "ko\\n\"\n" + entry("state", "열림") + entry("", "열린") + entry("menu", "파일 열기"));
  const auto pairs = gather([&](const PairSink& sink) { read_catalogues(folder_ / "po", "de", "ko", sink); });
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].source, "Datei öffnen");
  EXPECT_EQ(pairs[0].target, "파일 열기");
  EXPECT_EQ(pairs[1].target, "열린");
  EXPECT_EQ(pairs[2].target, "열림");
}

TEST(Html, VariantsAreChosenNotGlued) {
  const auto paragraphs = html_paragraphs(
      "<p class=\"paragraph\">no id</p><h1 id=\"a\">T&auml;st &lt;b&gt; &amp;amp; &#44032;</h1><p id=\"b\">Press <span "
      "class=\"switchinline\"><span "
      "hidden=\"true\" id=\"MACx\" class=\"MAC\">Command</span><span hidden=\"true\" id=\"defaultx\">Ctrl</span></span>+N<br>now<img "
      "alt=\"a>b\" "
      "src=\"x\">.</p><p id=\"c\" class=\"code\">PRINT</p><p id=\"d\"> <img src=\"x\"></p><p id=\"e\">cut");
  ASSERT_EQ(paragraphs.size(), 2U);
  EXPECT_EQ(paragraphs[0].text, "Täst <b> &amp; 가");
  EXPECT_EQ(paragraphs[1].id, "b");
  EXPECT_EQ(paragraphs[1].text, "Press Ctrl+N now .");
}

TEST(Html, CutAtEveryByteNeverCrashes) {
  const std::string page =
      "<h1 id=\"a\">x<span class=\"switchinline\"><span id=\"defaultx\">y</span></span></h1><p id='b' class=\"code\">&#x41;</p>";
  for (size_t size = 0; size <= page.size(); ++size) (void)html_paragraphs(std::string(page.substr(0, size)));
}

TEST_F(CorpusTest, HelpPagesAreJoinedByFileAndParagraph) {
  put("help/en-US/text/a.html", "<p id=\"1\">Open the file.</p><p id=\"2\">Only English.</p><p id=\"1\">again</p>");
  put("help/ko/text/a.html", "<p id=\"3\">다른 것</p><p id=\"1\">파일을 엽니다.</p>");
  put("help/ko/text/b.html", "<p id=\"1\">b</p>");
  const auto pairs = gather([&](const PairSink& sink) { read_help_pages(folder_ / "help", "en", "ko", sink); });
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].source, "Open the file.");
  EXPECT_EQ(pairs[0].target, "파일을 엽니다.");
  EXPECT_NE(pairs[0].page, 0U);
  EXPECT_NE(error_of([&] { read_help_pages(folder_ / "help", "en", "de", [](TextPair&&) {}); }).find("'de'"), std::string::npos);
}

TEST_F(CorpusTest, UnusableSourcesAreRefusedInOneLine) {
  const auto file = put("a.tsv", "same words\tsame words\n");
  error_of([&] { build_corpus({.to = "ko"}); });
  error_of([&] { build_corpus({.to = "en", .tsv = {file}}); });
  error_of([&] { build_corpus({.to = "Korean", .tsv = {file}}); });
  error_of([&] { build_corpus({.to = "ko", .tsv = {folder_ / "none.tsv"}}); });
  error_of([&] { build_corpus({.to = "ko", .catalogues = {folder_ / "none"}}); });
  error_of([&] { build_corpus({.to = "ko", .catalogues = {file}}); });
  error_of([&] { build_corpus({.to = "ko", .help = {folder_}}); });
  EXPECT_NE(error_of([&] { build_corpus({.to = "ko", .catalogues = {folder_}}); }).find("found none"), std::string::npos);
  const std::string nothing = error_of([&] { build_corpus({.to = "ko", .tsv = {file}}); });
  EXPECT_NE(nothing.find("not translated"), std::string::npos) << nothing;
  const std::string empty = error_of([&] { build_corpus({.to = "ko", .tsv = {put("b.tsv", "one\t하나\n"), put("empty.tsv", "")}}); });
  EXPECT_NE(empty.find("empty.tsv: expected lines of SOURCE TAB TARGET, found an empty file"), std::string::npos) << empty;
  put("empty/po/ko.po", "");
  EXPECT_NE(error_of([&] { build_corpus({.to = "ko", .catalogues = {folder_ / "empty"}}); }).find("ko.po: expected a catalogue"),
            std::string::npos);
  put("bad/ko/LC_MESSAGES/a.mo", "damaged");
  EXPECT_NE(error_of([&] { build_corpus({.to = "ko", .catalogues = {folder_ / "bad"}}); }).find("a.mo"), std::string::npos);
}

TEST_F(CorpusTest, ReportHoldsCountsAndExamples) {
  const auto file = put("a.tsv", "Open the file\t파일 열기\nOpen %s\t%s 열기\nbroken\n");
  const Corpus corpus = build_corpus({.to = "ko", .tsv = {file}});
  write_corpus(corpus, folder_ / "out");
  const auto report = nlohmann::json::parse(read_file(folder_ / "out/report.json"));
  EXPECT_EQ(report["train"], 1);
  EXPECT_EQ(report["sources"][0]["read"], 3);
  EXPECT_EQ(report["sources"][0]["dropped"]["placeholder"]["pairs"], 1);
  EXPECT_NE(report["sources"][0]["dropped"]["wrong_number_of_fields"]["example"].get<std::string>().find(":3: broken"), std::string::npos);
  EXPECT_EQ(read_file(folder_ / "out/dev.en"), "");
  EXPECT_NE(report_text(corpus.report).find("train 1"), std::string::npos);
}

// Parts of two splits side by side would train on another's test lines, and nobody could tell.
TEST_F(CorpusTest, ACorpusThatCannotBeWrittenWholeLeavesTheOldOneAndNoLeftovers) {
  const auto file = put("a.tsv", "Open the file\t파일 열기\n"), other = put("b.tsv", "Close the file\t파일 닫기\n");
  write_corpus(build_corpus({.to = "ko", .tsv = {file}}), folder_ / "out");
  put("out/train.en.jumok-tmp-1-0", "of a run that was killed");
  fs::remove(folder_ / "out/report.json");
  fs::create_directory(folder_ / "out/report.json");  // what is written last
  EXPECT_NE(error_of([&] { write_corpus(build_corpus({.to = "ko", .tsv = {other}}), folder_ / "out"); }).find("report.json"),
            std::string::npos);
  EXPECT_EQ(read_lines(folder_ / "out/train.en"), std::vector<std::string>{"Open the file"});
  for (const auto& entry : fs::directory_iterator(folder_ / "out")) EXPECT_EQ(entry.path().string().find("jumok-tmp"), std::string::npos);
}

}  // namespace
}  // namespace jumok
