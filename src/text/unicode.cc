#include "text/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace jumok {
namespace {

// Table 3-7 of The Unicode Standard: what the first byte says of the rest.
struct Lead {
  int more = -1;                    // continuation bytes; -1: no lead byte
  uint8_t low = 0x80, high = 0xBF;  // of the first of them
  char32_t bits = 0;
};

Lead lead_of(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF, byte & 0x1Fu};
  if (byte >= 0xE0 && byte <= 0xEF) {
    return {2, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80), static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF), byte & 0x0Fu};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    return {3, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80), static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF), byte & 0x07u};
  }
  return {};
}

bool is_scalar(char32_t c) { return c < 0xD800 || (c > 0xDFFF && c <= 0x10FFFF); }

bool breaks_lines(char32_t c) { return (c >= 0x0A && c <= 0x0D) || c == 0x85 || c == 0x2028 || c == 0x2029; }

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

template <typename Map>
std::string map_code_points(std::string_view text, Map map) {
  std::string mapped;
  mapped.reserve(text.size());
  for (size_t i = 0; i < text.size();) append_utf8(mapped, map(next_code_point(text, i)));
  return mapped;
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t& position) {
  const auto first = static_cast<uint8_t>(text[position++]);
  if (first < 0x80) return first;
  Lead lead = lead_of(first);
  if (lead.more < 0) return kReplacement;
  char32_t c = lead.bits;
  for (; lead.more > 0; --lead.more) {
    if (position == text.size()) return kReplacement;
    const auto byte = static_cast<uint8_t>(text[position]);
    if (byte < lead.low || byte > lead.high) return kReplacement;
    c = (c << 6) | (byte & 0x3Fu);
    ++position;
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  return c;
}

void append_utf8(std::string& text, char32_t c) {
  if (!is_scalar(c)) c = kReplacement;
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | (c >> 6));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | (c >> 12));
    text += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | (c >> 18));
    text += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    text += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  }
}

std::u32string code_points(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  for (size_t i = 0; i < text.size();) points += next_code_point(text, i);
  return points;
}

std::string to_utf8(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (const char32_t c : text) append_utf8(bytes, c);
  return bytes;
}

std::string clean_utf8(std::string_view text, bool* changed) {
  std::string clean = map_code_points(text, [](char32_t c) { return c == 0 ? kReplacement : breaks_lines(c) ? U' ' : c; });
  if (changed != nullptr) *changed = clean != text;
  return clean;
}

std::string simple_lowercase(std::string_view text) {
  return map_code_points(text, [](char32_t c) -> char32_t {
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  });
}

std::string nfc(std::string_view text) {
  const std::string valid = map_code_points(text, [](char32_t c) { return c; });
  utf8proc_uint8_t* mapped = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()), static_cast<utf8proc_ssize_t>(valid.size()),
                                 &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  if (size < 0) fail("text of {} bytes: expected to be composed (NFC): {}", valid.size(), utf8proc_errmsg(size));
  return std::string(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_letter(char32_t c) { return category(c) >= UTF8PROC_CATEGORY_LU && category(c) <= UTF8PROC_CATEGORY_LO; }
bool is_digit(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_punctuation(char32_t c) { return category(c) >= UTF8PROC_CATEGORY_PC && category(c) <= UTF8PROC_CATEGORY_PO; }
bool is_symbol(char32_t c) { return category(c) >= UTF8PROC_CATEGORY_SM && category(c) <= UTF8PROC_CATEGORY_SO; }
bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

bool is_blank(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const char32_t c = next_code_point(text, i);
    if (!is_space(c) && c != 0x200B && c != 0x2060 && c != 0xFEFF) return false;
  }
  return true;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t here = i;
    if (!is_space(next_code_point(text, i))) continue;
    if (here > begin) words.push_back(text.substr(begin, here - begin));
    begin = i;
  }
  if (begin < text.size()) words.push_back(text.substr(begin));
  return words;
}

}  // namespace jumok
