// Text as Unicode: strict UTF-8, code points, white space, words, case, scripts. All functions take and return UTF-8 and never throw on
// content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace jumok {

inline constexpr char32_t kReplacement = 0xFFFD;  // stands for what cannot be text
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The code point at text[position]; position moves past it. position < text.size(). A bad sequence (overlong, surrogate, above U+10FFFF,
// stray or missing continuation) gives kReplacement and is left after its "maximal subpart" (The Unicode Standard 14, §3.9), as Python and
// browsers do.
char32_t next_code_point(std::string_view text, size_t& position);
// Appends the UTF-8 of `c`; what is no Unicode scalar value is appended as U+FFFD.
void append_utf8(std::string& text, char32_t c);
// All code points of a text and back.
std::u32string code_points(std::string_view text);
std::string to_utf8(std::u32string_view text);

// What a sentence may hold, so that it stays one line everywhere:
//   bad UTF-8 → U+FFFD per bad sequence;  NUL → U+FFFD;
//   LF, VT, FF, CR, U+0085, U+2028, U+2029 → one space each (some readers take them for line ends).
// All of it is white space before and after or neither, so the words (split_words) stay as many as they were. A U+FEFF inside is kept.
// changed, when given, is set to whether the result differs.
std::string clean_utf8(std::string_view text, bool* changed = nullptr);

// Each code point by its simple lower case mapping (UnicodeData.txt); one code point stays one, words stay words. So 'ß' stays, 'İ'
// (U+0130) becomes 'i', and a final 'Σ' becomes 'σ'. Bad UTF-8 becomes U+FFFD.
std::string simple_lowercase(std::string_view text);
// Normalisation form C. Bad UTF-8 becomes U+FFFD.
std::string nfc(std::string_view text);

// The property White_Space: tab … CR, space, U+0085, no-break space, U+1680, U+2000…U+200A, U+2028, U+2029, U+202F, U+205F, U+3000.
bool is_space(char32_t c);
bool is_letter(char32_t c);       // general category L*
bool is_digit(char32_t c);        // general category Nd: the digits of every script
bool is_punctuation(char32_t c);  // general category P*; symbols such as + or € are not
bool is_symbol(char32_t c);       // general category S*
bool is_control(char32_t c);      // general category Cc: U+0000…U+001F, U+007F…U+009F

// Nothing to translate: only white space and the invisible U+200B, U+2060, U+FEFF. The empty text is blank.
bool is_blank(std::string_view text);
// The words of the text as it stands: its longest runs without white space (is_space). Views into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// The script of a letter. kCommon: no letter at all (digits, punctuation, marks, symbols) or one of many scripts (µ, ー).
// kOther: a letter of a script not listed.
enum class Script { kCommon, kLatin, kGreek, kCyrillic, kHebrew, kArabic, kHangul, kHiragana, kKatakana, kHan, kOther };
Script script_of(char32_t c);

}  // namespace jumok
