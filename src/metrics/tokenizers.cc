#include "metrics/tokenizers.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "text/python_text.h"
#include "text/unicode.h"

namespace jumok {
namespace {

constexpr std::array<std::pair<std::string_view, Tokenizer>, 5> kNames = {
    {{"13a", Tokenizer::k13a}, {"char", Tokenizer::kChar}, {"none", Tokenizer::kNone}, {"intl", Tokenizer::kIntl}, {"zh", Tokenizer::kZh}}};

}  // namespace

Tokenizer parse_tokenizer(std::string_view name) {
  for (const auto& [known, tokenizer] : kNames) {
    if (known == name) return tokenizer;
  }
  fail("tokenizer: expected 13a, char, none, intl or zh, found '{}'", name);
}

namespace metrics {
namespace {

bool is_ascii_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_not_ascii_digit(char32_t c) { return !is_ascii_digit(c); }
bool is_stop(char32_t c) { return c == '.' || c == ','; }
bool is_hyphen(char32_t c) { return c == '-'; }
bool is_not_number(char32_t c) { return !python::is_number(c); }

// [\{-\~\[-\` -\&\(-\+\:-\@\/]: ASCII punctuation and the space, without ' , - .
bool is_ascii_mark(char32_t c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || (c >= ':' && c <= '@') ||
         c == '/';
}

// s/(c)/ \1 /g
template <typename Class>
std::u32string set_apart(std::u32string_view text, Class matches) {
  std::u32string out;
  out.reserve(text.size() * 2);
  for (const char32_t c : text) {
    if (matches(c)) {
      out.append({U' ', c, U' '});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

enum class Apart { kFirst, kSecond };  // which of a pair gets spaces around it: " a b" or "a b "

// s/(a)(b)/ \1 \2/g (kFirst) or s/(a)(b)/\1 \2 /g (kSecond). A pair that matched is used up: its second cannot begin the next one.
template <typename First, typename Next>
std::u32string split_pairs(std::u32string_view text, First first, Next next, Apart apart) {
  std::u32string out;
  out.reserve(text.size() * 2);
  size_t i = 0;
  while (i < text.size()) {
    if (i + 1 == text.size() || !first(text[i]) || !next(text[i + 1])) {
      out.push_back(text[i++]);
      continue;
    }
    if (apart == Apart::kFirst) out.push_back(U' ');
    out.append({text[i], U' ', text[i + 1]});
    if (apart == Apart::kSecond) out.push_back(U' ');
    i += 2;
  }
  return out;
}

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
  for (size_t at = text.find(from); at != std::u32string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

// The rules that mteval-v13a has for Western languages.
std::u32string western(std::u32string_view line) {
  auto text = set_apart(line, is_ascii_mark);
  text = split_pairs(text, is_not_ascii_digit, is_stop, Apart::kSecond);  // . , unless a digit is before
  text = split_pairs(text, is_stop, is_not_ascii_digit, Apart::kFirst);   // . , unless a digit follows
  return split_pairs(text, is_ascii_digit, is_hyphen, Apart::kSecond);    // - after a digit
}

std::u32string tokenize_13a(std::u32string_view line) {
  std::u32string text(line);
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  // One after the other: "&amp;lt;" ends as "<", but "&amp;quot;" as "&quot;".
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  return western(U" " + text + U" ");
}

std::u32string tokenize_intl(std::u32string_view line) {
  auto text = split_pairs(line, is_not_number, is_punctuation, Apart::kSecond);
  text = split_pairs(text, is_punctuation, is_not_number, Apart::kFirst);
  return set_apart(text, is_symbol);
}

// The ranges of sacreBLEU's list as they act. Two of its entries were meant as 20000-2A6D6 and 2F800-2FA1D, but are written as "\u2000" +
// "0" to
// "\u2a6d" + "6" and "\u2f80" + "0" to "\u2fa1" + "d"; compared as strings they hold 2001-2A6D and 2F81-2FA1.
bool is_chinese(char32_t c) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 22> kRanges = {
      {{0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
       {0x2001, 0x2A6D}, {0x2F81, 0x2FA1}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF}, {0x3000, 0x303F}, {0x31C0, 0x31EF},
       {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F},
       {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x32FF}, {0x3300, 0x33FF}}};
  for (const auto& [first, last] : kRanges) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

}  // namespace

std::string_view name_of(Tokenizer tokenizer) {
  for (const auto& [name, known] : kNames) {
    if (known == tokenizer) return name;
  }
  fail("tokenizer: expected one of the five named ones, found number {}", static_cast<int>(tokenizer));
}

std::u32string tokenize(std::u32string_view line, Tokenizer tokenizer) {
  line = python::strip_end(line);
  switch (tokenizer) {
    case Tokenizer::k13a:
      return tokenize_13a(line);
    case Tokenizer::kChar:
      return set_apart(line, [](char32_t) { return true; });
    case Tokenizer::kIntl:
      return tokenize_intl(line);
    case Tokenizer::kZh:
      return western(set_apart(python::strip(line), is_chinese));
    case Tokenizer::kNone:
      break;
  }
  return std::u32string(line);
}

}  // namespace metrics
}  // namespace jumok
