// The filters: every expected value is what a person would write.
#include "corpus/clean.h"

#include <gtest/gtest.h>

#include "corpus/access_key.h"
#include "corpus/encoding_fault.h"
#include "corpus/placeholder.h"
#include "jumok/error.h"

namespace jumok {
namespace {

TEST(AccessKey, MarksGoAndIdentifiersStay) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"_Open file", "Open file"},
                                                                  {"E&xit", "Exit"},
                                                                  {"R&&D", "R&D"},
                                                                  {"R&D", "R&D"},
                                                                  {"snake_case", "snake_case"},
                                                                  {"Save ~As…", "Save As…"},
                                                                  {"&File", "File"},
                                                                  {"파일(_F)", "파일"},
                                                                  {"파일 (&F)...", "파일..."},
                                                                  {"열기( ~O ):", "열기:"},
                                                                  {"__init__", "__init__"},
                                                                  {"~/.config", "~/.config"},
                                                                  {"Cut & Paste", "Cut & Paste"},
                                                                  {"a &lt; b", "a &lt; b"},
                                                                  {"_a and _b", "_a and _b"},
                                                                  {"a && b", "a && b"},
                                                                  {"Datei _öffnen", "Datei öffnen"},
                                                                  {"", ""},
                                                                  {"_", "_"},
                                                                  {"&", "&"},
                                                                  {"Tab (T)", "Tab (T)"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(without_access_key(text), expected) << text;
}

TEST(AccessKey, TheOtherSideDecidesWhatOneSideLeavesOpen) {
  struct Case {
    std::string source, target, clean_source, clean_target;
  };
  for (const Case& c : std::vector<Case>{{"E_xit", "끝내기(_X)", "Exit", "끝내기"},
                                         {"_File", "파일(F)", "File", "파일"},
                                         {"HT_ML source", "HTML 원본", "HTML source", "HTML 원본"},
                                         {"set rc_method", "rc_method 설정", "set rc_method", "rc_method 설정"},
                                         {"Tab stop (T)", "탭(T)", "Tab stop (T)", "탭(T)"},
                                         {"&Quality", "품질", "Quality", "품질"},
                                         {"America/St_Thomas", "Amerika/St._Thomas", "America/St_Thomas", "Amerika/St._Thomas"}}) {
    std::string source = c.source, target = c.target;
    remove_access_keys(source, target);
    EXPECT_EQ(source, c.clean_source);
    EXPECT_EQ(target, c.clean_target);
  }
}

TEST(Placeholder, EveryKindIsFoundWhole) {
  using List = std::vector<std::string>;
  EXPECT_EQ(sorted_placeholders("%1$s %2$s archived"), (List{"%1$s", "%2$s"}));
  EXPECT_EQ(sorted_placeholders("%(count)d of {name}"), (List{"%(count)d", "{name}"}));
  EXPECT_EQ(sorted_placeholders("{ $size } %%"), (List{"%%", "{ $size }"}));
  EXPECT_EQ(sorted_placeholders("<b>%s</b>"), (List{"%s", "</b>", "<b>"}));
  EXPECT_EQ(sorted_placeholders("%-5.2lf %llu %PRODUCTNAME %1"), (List{"%-5.2lf", "%1", "%PRODUCTNAME", "%llu"}));
  EXPECT_EQ(sorted_placeholders("$[officename] ${x} $(ARG1) $1"), (List{"$(ARG1)", "$1", "$[officename]", "${x}"}));
  EXPECT_EQ(sorted_placeholders("see https://a.org/x. Then &amp;"), (List{"&amp;", "https://a.org/x"}));
  EXPECT_EQ(sorted_placeholders("50% of it, $10, $1.50, a < b > c, me@example.org, R&D; 100%"), List{});
}

TEST(EncodingFault, MojibakeIsFoundAndGoodTextIsNot) {
  for (const char* bad : {"Ã¤ndern", "donâ€™t", "a\xEF\xBF\xBD", "\xC0\xAF", "bell\x07", "íŒŒì¼", "45Â° drehen"})
    EXPECT_TRUE(has_encoding_fault(bad)) << bad;
  for (const char* good : {"ändern", "„Spaß“", "“IRMÔ", "don’t", "파일", "45° drehen", "tab\tand\nline", "Ünïcödé «é»", "😀"}) {
    EXPECT_FALSE(has_encoding_fault(good)) << good;
  }
}

Drop verdict(const std::string& source, const std::string& target, const CleanOptions& options = {}, const std::string& to = "ko") {
  TextPair pair{.source = source, .target = target, .place = {}};
  return Cleaner(find_language("en"), find_language(to), options).clean(pair);
}

TEST(Clean, EveryReason) {
  EXPECT_EQ(verdict("Could not open the file.", "파일을 열 수 없습니다."), Drop::kKept);
  EXPECT_EQ(verdict("Open", "  "), Drop::kEmpty);
  EXPECT_EQ(verdict("Open the file", "파일\xEF\xBF\xBD 열기"), Drop::kMisencoded);
  EXPECT_EQ(verdict("Open %s", "%s 열기"), Drop::kPlaceholder);
  EXPECT_EQ(verdict("100 %", "100 %"), Drop::kNoWords);
  EXPECT_EQ(verdict("status . . . . . . . . .", "상태 . . . . . . . . ."), Drop::kFewLetters);
  EXPECT_EQ(verdict("Assign...", "할당..."), Drop::kKept);
  EXPECT_EQ(verdict("The file", "the FILE."), Drop::kUntranslated);
  EXPECT_EQ(verdict("파일 열기", "열기 파일"), Drop::kWrongSourceScript);
  EXPECT_EQ(verdict("Open the file", "Open file"), Drop::kWrongTargetScript);
  EXPECT_EQ(verdict("Open the file", "Datei öffnen", {}, "de"), Drop::kKept);
  EXPECT_EQ(verdict("Open the file", "파일", {.min_words = 4}), Drop::kTooShort);
  EXPECT_EQ(verdict("one two three four", "하나 둘 셋 넷", {.max_words = 3}), Drop::kTooLong);
  EXPECT_EQ(verdict("This is a rather long sentence with very many words.", "네"), Drop::kLengthRatio);
  EXPECT_EQ(verdict("Saved in 2019", "2020년에 저장됨"), Drop::kNumbers);
}

TEST(Clean, PlaceholdersAreKeptWhereBothSidesHaveTheSame) {
  const CleanOptions keep{.placeholders = PlaceholderRule::kKeep};
  EXPECT_EQ(verdict("Open %s", "%s 열기", keep), Drop::kKept);
  EXPECT_EQ(verdict("Open %s and %s", "%s 열기", keep), Drop::kPlaceholderMismatch);
  EXPECT_EQ(verdict("%s: %s", "%s: %s", keep), Drop::kNoWords);
}

TEST(Clean, DuplicatesAreFoundAfterNormalisation) {
  Cleaner cleaner(find_language("en"), find_language("ko"), {});
  TextPair a{.source = "Open  the\nfile", .target = "파일\xC2\xA0열기\xE2\x80\x8B", .place = {}};
  EXPECT_EQ(cleaner.clean(a), Drop::kKept);
  EXPECT_EQ(a.source, "Open the file");
  EXPECT_EQ(a.target, "파일 열기");
  TextPair b{.source = "Open the file", .target = "파일 열기", .place = {}};
  EXPECT_EQ(cleaner.clean(b), Drop::kDuplicate);
}

TEST(Clean, LineSeparatorsInsideATextBecomeSpaces) {
  EXPECT_EQ(normalize_text("a\xE2\x80\xA8"
                           "b\xE2\x80\xA9"
                           "c\xC2\x85"
                           "d\ve\ff"),
            "a b c d e f");
}

TEST(Language, CodesAreCheckedAndUnknownOnesAreNeutral) {
  for (const char* bad : {"", "k", "Korean", "korean", "KO", "../x", "ko/", "ko_"}) EXPECT_THROW(find_language(bad), Error) << bad;
  EXPECT_EQ(find_language("pt_BR").density, find_language("pt").density);
  EXPECT_TRUE(find_language("tlh").scripts.empty());
  EXPECT_THROW(Cleaner(find_language("en"), find_language("ko"), {.min_words = 9, .max_words = 3}), Error);
}

}  // namespace
}  // namespace jumok
