#include "corpus/placeholder.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace jumok {
namespace {

constexpr size_t kLongestName = 40, kLongestTag = 300;

bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool word(char c) { return letter(c) || digit(c) || c == '_'; }

// A scanner answers with the bytes of its placeholder at the start of `s` (whose first character is its sign), or 0.
size_t skip(std::string_view s, size_t i, std::string_view set) {
  while (i < s.size() && set.find(s[i]) != std::string_view::npos) ++i;
  return i;
}

size_t skip_digits(std::string_view s, size_t i) { return skip(s, i, "0123456789"); }

size_t skip_word(std::string_view s, size_t i) {
  while (i < s.size() && word(s[i])) ++i;
  return i;
}

// open … close with only `allowed` and word characters between; returns the bytes, 0 if it is not like that.
size_t enclosed(std::string_view s, size_t open, char close, std::string_view allowed) {
  size_t i = open + 1;
  while (i < s.size() && i - open <= kLongestName && (word(s[i]) || allowed.find(s[i]) != std::string_view::npos)) ++i;
  return i < s.size() && s[i] == close ? i + 1 : 0;
}

// [position$][flags][width][.precision][length]conversion, behind the '%' (and the name, if there was one).
size_t printf_rest(std::string_view s, size_t i) {
  const size_t position = skip_digits(s, i);
  if (position > i && position < s.size() && s[position] == '$') i = position + 1;
  i = skip(s, i, "-+#0'");
  i = skip(s, i, "0123456789*$");
  if (i < s.size() && s[i] == '.') i = skip(s, i + 1, "0123456789*$");
  i = skip(s, i, "hlLqjzt");
  constexpr std::string_view kConversions = "diouxXeEfFgGaAcsCSpnm@";
  return i < s.size() && kConversions.find(s[i]) != std::string_view::npos ? i + 1 : 0;
}

size_t percent(std::string_view s) {
  if (s.size() < 2) return 0;
  if (s[1] == '%') return 2;
  if (s[1] == '{') return enclosed(s, 1, '}', "-.");
  if (s[1] == '(' || s[1] == '<') {
    const size_t name = enclosed(s, 1, s[1] == '(' ? ')' : '>', "-. ");
    return name == 0 ? 0 : printf_rest(s, name);
  }
  if (const size_t end = printf_rest(s, 1)) {
    const bool word_follows =
        end < s.size() && letter(s[end]) && letter(s[end - 1]) && std::isupper(static_cast<unsigned char>(s[end - 1]));
    if (!word_follows) return end;  // else %PRODUCTNAME and the like
  }
  const size_t number = skip_digits(s, s[1] == 'L' ? 2 : 1);
  if (number > (s[1] == 'L' ? 2U : 1U)) return number;  // Qt's %1
  const size_t name = skip_word(s, 1);
  return name > 2 && std::isupper(static_cast<unsigned char>(s[1])) ? name : 0;
}

// $1 and #1 are parameters in LibreOffice; $10 and $1.50 are money.
size_t number_sign(std::string_view s) {
  if (s.size() < 2 || !digit(s[1])) return 0;
  const bool longer = s.size() > 2 && digit(s[2]);
  const bool fraction = s.size() > 3 && (s[2] == '.' || s[2] == ',') && digit(s[3]);
  return longer || fraction ? 0 : 2;
}

size_t dollar(std::string_view s) {
  if (s.size() < 2) return 0;
  if (s[1] == '{') return enclosed(s, 1, '}', ".:-");
  if (s[1] == '(') return enclosed(s, 1, ')', ".:-");
  if (s[1] == '[') return enclosed(s, 1, ']', ".:- ");
  if (letter(s[1]) || s[1] == '_') return skip_word(s, 1);
  return number_sign(s);
}

size_t brace(std::string_view s) { return enclosed(s, 0, '}', ".:!,$#[]%+-* <>="); }

size_t at_sign(std::string_view s) {
  const size_t end = skip_word(s, 1);
  return end > 1 && end < s.size() && s[end] == '@' ? end + 1 : 0;
}

size_t tag(std::string_view s) {
  if (s.size() < 3 || !(letter(s[1]) || s[1] == '!' || s[1] == '?' || (s[1] == '/' && letter(s[2])))) return 0;
  const size_t end = s.substr(0, kLongestTag).find_first_of("<>", 1);
  return end != std::string_view::npos && s[end] == '>' ? end + 1 : 0;
}

size_t entity(std::string_view s) {
  const size_t end = skip_word(s, s.size() > 1 && s[1] == '#' ? 2 : 1);
  return end > 2 && end <= 12 && end < s.size() && s[end] == ';' ? end + 1 : 0;
}

size_t escape(std::string_view s) { return s.size() > 1 && s[1] >= 'a' && s[1] <= 'z' ? 2 : 0; }

size_t backquote(std::string_view s) {
  const size_t end = s.find('`', 1);
  return end == std::string_view::npos ? 1 : end + 1;
}

size_t url(std::string_view s) {
  constexpr std::array<std::string_view, 4> kSchemes = {"http://", "https://", "ftp://", "file://"};
  if (std::none_of(kSchemes.begin(), kSchemes.end(), [&](std::string_view scheme) { return s.starts_with(scheme); })) return 0;
  size_t end = 0;
  while (end < s.size() && s[end] > ' ' && s[end] < 0x7F && std::string_view("<>\"'`").find(s[end]) == std::string_view::npos) ++end;
  while (end > 0 && std::string_view(".,;:!?)").find(s[end - 1]) != std::string_view::npos) --end;  // the sentence's own marks
  return end;
}

size_t placeholder_at(std::string_view text, size_t i) {
  const std::string_view s = text.substr(i);
  const bool inside_word = i > 0 && word(text[i - 1]);
  switch (s[0]) {
    case '%':
      return percent(s);
    case '$':
      return dollar(s);
    case '#':
      return inside_word ? 0 : number_sign(s);
    case '{':
      return brace(s);
    case '@':
      return inside_word ? 0 : at_sign(s);
    case '<':
      return tag(s);
    case '&':
      return entity(s);
    case '\\':
      return escape(s);
    case '`':
      return backquote(s);
    case 'h':
    case 'f':
      return inside_word ? 0 : url(s);
    default:
      return 0;
  }
}

}  // namespace

std::vector<PlaceholderSpan> find_placeholders(std::string_view text) {
  std::vector<PlaceholderSpan> spans;
  for (size_t i = 0; i < text.size();) {
    const size_t size = placeholder_at(text, i);
    if (size > 0) spans.push_back({i, i + size});
    i += std::max<size_t>(size, 1);
  }
  return spans;
}

std::vector<std::string> sorted_placeholders(std::string_view text) {
  std::vector<std::string> result;
  for (const auto [begin, end] : find_placeholders(text)) result.emplace_back(text.substr(begin, end - begin));
  std::sort(result.begin(), result.end());
  return result;
}

std::string without_placeholders(std::string_view text) {
  std::string result;
  size_t at = 0;
  for (const auto [begin, end] : find_placeholders(text)) {
    result.append(text.substr(at, begin - at)).push_back(' ');
    at = end;
  }
  return result.append(text.substr(at));
}

}  // namespace jumok
