#include "corpus/encoding_fault.h"

#include <algorithm>
#include <array>
#include <string>

#include "text/unicode.h"

namespace jumok {
namespace {

// Windows-1252's bytes 0x80 … 0x9F as code points.
constexpr std::array<char32_t, 32> kWindows1252 = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
                                                   0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
                                                   0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

bool is_capital(char32_t c) {
  std::string text;
  append_utf8(text, c);
  return simple_lowercase(text) != text;
}

// What no text holds: U+FFFD, control characters that are no white space, private use, noncharacters.
bool is_damage(char32_t c) {
  const bool private_use = (c >= 0xE000 && c <= 0xF8FF) || c >= 0xF0000;
  return c == kReplacement || (is_control(c) && !is_space(c)) || private_use || (c & 0xFFFE) == 0xFFFE;
}

// Whether `c` is what a UTF-8 continuation byte (0x80 … 0xBF) looks like after such a conversion.
bool looks_like_continuation(char32_t c) {
  if (c >= 0x80 && c <= 0xBF) return true;
  return std::find(kWindows1252.begin(), kWindows1252.end(), c) != kWindows1252.end();
}

// Lead byte 0xC2 or 0xC3 with one continuation, 0xE2 … 0xED with two. Other leads would also hit good text, such as „Spaß“.
bool is_mojibake(const std::u32string& text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const char32_t lead = text[i];
    if (!looks_like_continuation(text[i + 1])) continue;
    const bool quoted_capital = lead == 0xC3 && text[i + 1] >= 0x2000 && i > 0 && is_capital(text[i - 1]);  // “IRMÔ
    if ((lead == 0xC2 || lead == 0xC3) && !quoted_capital) return true;
    if (lead >= 0xE2 && lead <= 0xED && i + 2 < text.size() && looks_like_continuation(text[i + 2])) return true;
  }
  return false;
}

}  // namespace

bool has_encoding_fault(std::string_view text) {
  const std::u32string points = code_points(text);
  return std::any_of(points.begin(), points.end(), is_damage) || is_mojibake(points);
}

}  // namespace jumok
