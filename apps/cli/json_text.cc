#include "json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace jumok {
namespace {

// Plain decimal numbers only: JSON knows neither "+1" nor "01" nor "inf".
bool is_number(std::string_view s) {
  const size_t first = s.starts_with('-') ? 1 : 0;
  if (s.size() == first || s[first] < '0' || s[first] > '9' || s.ends_with('.')) return false;
  if (s[first] == '0' && s.size() > first + 1 && s[first + 1] >= '0' && s[first + 1] <= '9') return false;
  double number = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), number);
  return error == std::errc() && end == s.data() + s.size() && std::isfinite(number);
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_value(std::string_view value) {
  return value == "true" || value == "false" || is_number(value) ? std::string(value) : json_string(value);
}

}  // namespace jumok
