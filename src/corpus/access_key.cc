#include "corpus/access_key.h"

#include <cctype>

namespace jumok {
namespace {

constexpr size_t kNone = std::string_view::npos;

unsigned char at(std::string_view s, size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0; }
bool key(unsigned char c) { return std::isalnum(c) || c >= 0x80; }
bool mark(unsigned char c) { return c == '_' || c == '&' || c == '~'; }

// A position where a mark may stand: before a key, not doubled, no entity.
bool candidate(std::string_view s, size_t i) {
  if (!mark(at(s, i)) || !key(at(s, i + 1)) || (i > 0 && at(s, i - 1) == at(s, i))) return false;
  if (at(s, i) != '&') return true;
  size_t end = i + 1;
  while (std::isalnum(at(s, end))) ++end;
  return at(s, end) != ';';
}

// The only candidate of one kind of mark; none where there are several: identifiers and formulas then.
size_t only_mark(std::string_view s, char which) {
  size_t found = kNone;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != which || !candidate(s, i)) continue;
    if (found != kNone) return kNone;
    found = i;
  }
  return found;
}

bool starts_word(std::string_view s, size_t i) {
  return i == 0 || !(key(at(s, i - 1)) || mark(at(s, i - 1)) || at(s, i - 1) == '/' || at(s, i - 1) == '.');
}

// Whether the mark at `i` is one by its own place, without looking at the other side.
bool evident(std::string_view s, size_t i) {
  if (starts_word(s, i)) return true;
  return s[i] != '_' && std::isalpha(at(s, i - 1)) && std::islower(at(s, i + 1));
}

struct Bracket {
  size_t begin = kNone, end = kNone;
  unsigned char letter = 0;
  bool marked = false;
};

// "(_F)", "( &F )" anywhere, or the last "(F)": [begin, end) with the blanks before it.
Bracket find_bracket(std::string_view s) {
  Bracket found;
  for (size_t open = s.find('('); open != kNone; open = s.find('(', open + 1)) {
    size_t i = open + 1;
    while (at(s, i) == ' ') ++i;
    const bool marked = mark(at(s, i));
    i += marked ? 1 : 0;
    const unsigned char letter = at(s, i);
    if (!std::isalnum(letter)) continue;
    ++i;
    while (at(s, i) == ' ') ++i;
    if (at(s, i) != ')' || (found.marked && !marked)) continue;
    size_t begin = open;
    while (begin > 0 && at(s, begin - 1) == ' ') --begin;
    found = {begin, i + 1, letter, marked};
  }
  return found;
}

bool ends_after(std::string_view s, size_t i) { return s.find_first_not_of(" .:", i) == kNone || s.substr(i).starts_with("…"); }

std::string unescape_ampersand(std::string s) {
  for (size_t i = s.find("&&"); i != kNone; i = s.find("&&", i + 1)) {
    if (i > 0 && key(at(s, i - 1)) && key(at(s, i + 2))) s.erase(i, 1);
  }
  return s;
}

bool has_key(std::string_view s, char which) {
  const Bracket bracket = find_bracket(s);
  if (bracket.marked) return true;
  const size_t i = only_mark(s, which);
  return i != kNone && evident(s, i);
}

// The word around position `i`, with its underscores.
std::string_view word_around(std::string_view s, size_t i) {
  const auto part = [&](size_t j) { return std::isalnum(at(s, j)) || at(s, j) == '_'; };
  size_t begin = i, end = i;
  while (begin > 0 && part(begin - 1)) --begin;
  while (part(end)) ++end;
  return s.substr(begin, end - begin);
}

bool contains_word(std::string_view s, std::string_view word) {
  for (size_t i = s.find(word); i != kNone; i = s.find(word, i + 1)) {
    if (word_around(s, i) == word) return true;
  }
  return false;
}

// A mark inside a word, judged by the other side: "snake_case" is repeated in a translation, "HT_ML" and "Filte_rs" are not, and
// "St_Thomas" (a capital behind the mark) is none as long as the other side has a mark at all ("St._Thomas").
bool judged_by_other(const std::string& own, const std::string& other, size_t i) {
  if (has_key(other, own[i])) return true;
  if (!std::isalpha(at(own, i + 1)) || contains_word(other, word_around(own, i))) return false;
  return std::islower(at(own, i + 1)) || other.find(own[i]) == std::string::npos;
}

// Takes the marks out of `s`. `is_key(i)` decides about a mark inside a word that is not evident.
template <typename IsKey>
std::string take_out(std::string s, IsKey is_key) {
  const Bracket bracket = find_bracket(s);
  if (bracket.marked) {
    s.erase(bracket.begin, bracket.end - bracket.begin);
    return unescape_ampersand(std::move(s));
  }
  for (const char which : {'_', '&', '~'}) {
    const size_t i = only_mark(s, which);
    if (i != kNone && (evident(s, i) || is_key(i))) {
      s.erase(i, 1);
      break;
    }
  }
  return unescape_ampersand(std::move(s));
}

}  // namespace

std::string without_access_key(std::string_view text) {
  return take_out(std::string(text), [](size_t) { return false; });
}

void remove_access_keys(std::string& source, std::string& target) {
  const auto marked_word = [&](std::string_view s, char which) {  // the letter behind a mark, 0 if there is none
    const size_t i = only_mark(s, which);
    return i == kNone ? 0 : std::toupper(at(s, i + 1));
  };
  const Bracket bracket = find_bracket(target);
  if (bracket.begin != kNone && !bracket.marked && ends_after(target, bracket.end)) {
    const int letter = std::toupper(bracket.letter);
    const bool same = letter == marked_word(source, '_') || letter == marked_word(source, '&') || letter == marked_word(source, '~');
    if (same) target.erase(bracket.begin, bracket.end - bracket.begin);
  }
  const std::string from = source, to = target;
  source = take_out(from, [&](size_t i) { return judged_by_other(from, to, i); });
  target = take_out(to, [&](size_t i) { return judged_by_other(to, from, i); });
}

}  // namespace jumok
