#include "text/python_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "text/unicode.h"

namespace jumok::python {
namespace {

bool between(char32_t c, char32_t first, char32_t last) { return first <= c && c <= last; }

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// Unicode's Case_Ignorable: marks, format characters, modifiers, and the punctuation that may stand inside a word.
bool is_case_ignorable(char32_t c) {
  static constexpr std::array kInsideWords = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                              0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::find(kInsideWords.begin(), kInsideWords.end(), static_cast<int>(c)) != kInsideWords.end();
  }
}

// Unicode's Cased, among the characters that are not Case_Ignorable: cased letters, ª º, Roman numerals, letters in circles and boxes.
bool is_cased(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return c == 0xAA || c == 0xBA || between(c, 0x2160, 0x217F) || between(c, 0x24B6, 0x24E9) || between(c, 0x1F130, 0x1F149) ||
             between(c, 0x1F150, 0x1F169) || between(c, 0x1F170, 0x1F189);
  }
}

// Final_Sigma (Unicode, table 3-17): a cased letter before, none after, case-ignorable characters skipped on both sides.
bool ends_word(std::u32string_view text, size_t position) {
  const auto is_ignorable = [](char32_t c) { return is_case_ignorable(c); };
  const auto before = std::find_if_not(text.rend() - static_cast<ptrdiff_t>(position), text.rend(), is_ignorable);
  if (before == text.rend() || !is_cased(*before)) return false;
  const auto after = std::find_if_not(text.begin() + static_cast<ptrdiff_t>(position) + 1, text.end(), is_ignorable);
  return after == text.end() || !is_cased(*after);
}

}  // namespace

bool is_space(char32_t c) { return jumok::is_space(c) || between(c, 0x1C, 0x1F); }

bool is_number(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

std::u32string lower(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == U'\u0130') {
      out += U"i\u0307";
    } else if (text[i] == U'Σ') {
      out.push_back(ends_word(text, i) ? U'ς' : U'σ');
    } else {
      out.push_back(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(text[i]))));
    }
  }
  return out;
}

std::u32string_view strip_end(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string_view strip(std::u32string_view text) {
  text = strip_end(text);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::vector<std::u32string_view> split(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && !is_space(text[end])) ++end;
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace jumok::python
