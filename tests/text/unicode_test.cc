#include "text/unicode.h"

#include <gtest/gtest.h>

namespace jumok {
namespace {

using namespace std::string_literals;

constexpr char kBad[] = "\uFFFD";

std::string repeat(const std::string& text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

// Expected counts: Python 3.11, len(bytes.decode("utf-8", "replace")).
TEST(Unicode, EachBadSequenceBecomesReplacementsAndNothingElseIsTouched) {
  EXPECT_EQ(clean_utf8("\xC0\xAF"), repeat(kBad, 2));          // overlong '/'
  EXPECT_EQ(clean_utf8("\xED\xA0\x80"), repeat(kBad, 3));      // surrogate
  EXPECT_EQ(clean_utf8("\xF5\x80\x80\x80"), repeat(kBad, 4));  // above U+10FFFF
  EXPECT_EQ(clean_utf8("\xF4\x90\x80\x80"), repeat(kBad, 4));  // U+110000
  EXPECT_EQ(clean_utf8("\x80"), kBad);                         // stray continuation
  EXPECT_EQ(clean_utf8("ab\xE2\x82"), "ab"s + kBad);           // cut short at the end
  EXPECT_EQ(clean_utf8("ab\xE2\x82"
                       "cd\xF0\x9F\x99"),
            "ab"s + kBad + "cd" + kBad);                                   // cut short inside
  EXPECT_EQ(clean_utf8("\xE0\x80\x80\xF0\x8F\xBF\xBF"), repeat(kBad, 7));  // overlong, 3 and 4 bytes
}

TEST(Unicode, TheLastValidSequencesOfEachLengthAreKept) {
  const std::string edges = "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF";
  bool changed = true;
  // U+0080 and its neighbours are no line breaks; only U+0085 is.
  EXPECT_EQ(clean_utf8(edges, &changed), edges);
  EXPECT_FALSE(changed);
  EXPECT_EQ(code_points(edges), U"\x7F\x80\u07FF\u0800\uD7FF\uE000\uFFFF\U00010000\U0010FFFF");
  EXPECT_EQ(to_utf8(code_points(edges)), edges);
}

TEST(Unicode, WhatSomeReadersTakeForALineEndBecomesASpace) {
  bool changed = false;
  EXPECT_EQ(clean_utf8("a\u2028b\u2029c\u0085d\ve\ff\rg\nh", &changed), "a b c d e f g h");
  EXPECT_TRUE(changed);
}

TEST(Unicode, TextAfterNulIsKept) { EXPECT_EQ(clean_utf8("ab\0cd"s), "ab"s + kBad + "cd"); }

TEST(Unicode, CleaningAndLowercasingNeverChangeTheNumberOfWords) {
  for (const auto& text :
       {"ab\0cd e"s, "a\u2028b"s, "x\xE2\x82 \xFFy z"s, "  A\u0085\u3000\u0130 \u212A\u00A0\u1E9E "s, "\r\n"s, "\xC2"s}) {
    const auto words = split_words(text).size();
    EXPECT_EQ(split_words(clean_utf8(text)).size(), words) << text;
    EXPECT_EQ(split_words(simple_lowercase(text)).size(), words) << text;
  }
}

// Expected values: UnicodeData.txt 14, field 13.
TEST(Unicode, LowercaseIsOneCodePointForOne) {
  EXPECT_EQ(simple_lowercase("ABC xyz ÄÖÜ ß ẞ ΣΑΣ ЖЯ"), "abc xyz äöü ß ß σασ жя");
  EXPECT_EQ(simple_lowercase("\u0130"), "i");              // İ loses its dot, rather than become i + U+0307
  EXPECT_EQ(simple_lowercase("\u212A\u023A"), "k\u2C65");  // Kelvin gets shorter, Ⱥ longer
  EXPECT_EQ(simple_lowercase("한국어 日本 ǅ Ⅷ"), "한국어 日本 ǆ ⅷ");
}

TEST(Unicode, NfcComposes) {
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");  // 한
  EXPECT_EQ(nfc("a\0b"s), "a\0b"s);
  EXPECT_EQ(nfc("\u212B"), "\u00C5");
  EXPECT_EQ(nfc(""), "");
}

TEST(Unicode, BlankLinesOfEveryKindOfSpaceAreBlank) {
  for (const auto* blank : {"", " ", "   ", "\t", "\u00A0", "\u3000", "\u2003 \u205F", "\u200B", "\uFEFF", "\u2060"})
    EXPECT_TRUE(is_blank(blank)) << blank;
  for (const auto* text : {"a", " .", "\u3000。", "\u2581", "\uFFFD", "\xFF"}) EXPECT_FALSE(is_blank(text)) << text;
}

TEST(Unicode, WordsAreCutAtUnicodeWhiteSpaceOnly) {
  const std::string text = "  one\u00A0two\u3000三\u200B四 \t five\u2581six ";
  const auto words = split_words(text);
  ASSERT_EQ(words.size(), 4u);
  EXPECT_EQ(words[0], "one");
  EXPECT_EQ(words[1], "two");
  EXPECT_EQ(words[2], "三\u200B四");
  EXPECT_EQ(words[3], "five\u2581six");
  EXPECT_EQ(words[0].data(), text.data() + 2);
  EXPECT_TRUE(split_words("").empty());
  EXPECT_TRUE(split_words(" \u2003").empty());
}

TEST(Unicode, Classes) {
  EXPECT_TRUE(is_digit(U'7') && is_digit(U'٣') && is_digit(U'７'));
  EXPECT_FALSE(is_digit(U'Ⅷ') || is_digit(U'½') || is_digit(U'a'));
  EXPECT_TRUE(is_punctuation(U'.') && is_punctuation(U'。') && is_punctuation(U'«') && is_punctuation(U'_'));
  EXPECT_FALSE(is_punctuation(U'+') || is_punctuation(U'€') || is_punctuation(U'a') || is_punctuation(U' '));
  EXPECT_TRUE(is_symbol(U'+') && is_symbol(U'€') && is_symbol(U'▁'));
  EXPECT_TRUE(is_letter(U'ß') && is_letter(U'한') && is_letter(U'漢'));
  EXPECT_FALSE(is_letter(U'1') || is_letter(0x301) || is_letter(0x378));
  EXPECT_TRUE(is_control(0) && is_control(0x7F) && is_control(0x85));
  EXPECT_FALSE(is_control(U' ') || is_control(0xA0));
}

// Expected values: Perl's \p{Script=…}, Unicode 14 (all assigned letters were compared once; these are the edges).
TEST(Unicode, Scripts) {
  const std::pair<const char32_t*, Script> cases[] = {{U"Aéªßｚ\u212B\u1E9E", Script::kLatin},
                                                      {U"αΩ\u2126ἀ", Script::kGreek},
                                                      {U"Жҙ", Script::kCyrillic},
                                                      {U"אﬡ", Script::kHebrew},
                                                      {U"بڤﷺ", Script::kArabic},
                                                      {U"한ㄱᄒﾡ", Script::kHangul},
                                                      {U"あゝ", Script::kHiragana},
                                                      {U"カｱㇰ", Script::kKatakana},
                                                      {U"漢々\U00020000\uF900", Script::kHan},
                                                      {U"1.€ µーـ\u0301\U0001D400", Script::kCommon},
                                                      {U"กअ", Script::kOther}};
  for (const auto& [letters, script] : cases) {
    for (const char32_t c : std::u32string_view(letters)) EXPECT_EQ(script_of(c), script) << std::hex << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace jumok
