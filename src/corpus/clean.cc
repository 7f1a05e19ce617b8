#include "corpus/clean.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "corpus/access_key.h"
#include "corpus/encoding_fault.h"
#include "corpus/placeholder.h"
#include "text/unicode.h"

namespace jumok {
namespace {

constexpr double kRatioSlack = 4, kRatioFactor = 3;

// Soft hyphen, zero-width space, word joiner, byte order mark, direction marks: carry no text. (Joiners do, in Persian and Hindi.)
bool is_invisible(char32_t c) {
  return c == 0xAD || c == 0x200B || c == 0x200E || c == 0x200F || c == 0x2060 || c == 0xFEFF || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

size_t length(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool in_scripts(const Language& language, Script script) {
  return std::find(language.scripts.begin(), language.scripts.end(), script) != language.scripts.end();
}

// A word of the alphabet has two letters side by side ("A:", "x 2" have none); one letter is enough where letters are syllables or words.
bool has_word(std::string_view text) {
  bool before = false;
  for (const char32_t c : code_points(text)) {
    const bool letter = is_letter(c);
    const Script script = letter ? script_of(c) : Script::kCommon;
    if (letter && (before || script == Script::kHangul || script == Script::kHan)) return true;
    before = letter;
  }
  return false;
}

// Formulas, tables and lines drawn with characters hold more marks and digits than letters. A run of one mark ("...") counts once.
bool has_few_letters(std::string_view text, size_t weight) {
  size_t letters = 0, marks = 0;
  char32_t before = 0;
  for (const char32_t c : code_points(text)) {
    if (is_letter(c)) {
      letters += weight;
    } else if (c != before && (is_punctuation(c) || is_symbol(c) || is_digit(c))) {
      ++marks;
    }
    before = c;
  }
  return letters < marks;
}

// A letter of a dense script stands for several of English.
size_t letter_weight(const Language& language) { return language.density < 0.6 ? 2 : 1; }

// Whether enough of the letters are in the language's scripts; true for a language without listed scripts.
bool mostly_in_script(std::string_view text, const Language& language, double least) {
  if (language.scripts.empty()) return true;
  size_t letters = 0, right = 0;
  for (const char32_t c : code_points(text)) {
    if (!is_letter(c)) continue;
    const Script script = script_of(c);
    if (script == Script::kCommon) continue;
    ++letters;
    right += in_scripts(language, script) ? 1 : 0;
  }
  return right > 0 && static_cast<double>(right) >= least * static_cast<double>(letters);
}

// Numbers of two or more digits; single digits are often written out ("two pages", "2페이지").
std::vector<std::string> long_numbers(std::string_view text) {
  std::vector<std::string> numbers;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end - i >= 2) numbers.emplace_back(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

std::string normalize_text(std::string_view text) {
  std::string result;
  bool space = false;
  for (const char32_t c : code_points(text)) {
    if (is_invisible(c)) continue;
    if (is_space(c)) {
      space = !result.empty();
      continue;
    }
    if (space) result.push_back(' ');
    space = false;
    append_utf8(result, c);
  }
  return nfc(result);
}

std::string fold_text(std::string_view text) {
  std::string result;
  for (const char32_t c : code_points(nfc(simple_lowercase(text)))) {
    if (!(is_space(c) || is_punctuation(c) || is_symbol(c) || is_digit(c) || is_control(c) || is_invisible(c))) append_utf8(result, c);
  }
  return result;
}

int count_words(std::string_view text, const Language& language) {
  const int words = static_cast<int>(split_words(text).size());
  if (language.spaced) return words;
  const auto points = code_points(text);
  return std::max(words, static_cast<int>(std::count_if(points.begin(), points.end(), is_letter) / 2));
}

Cleaner::Cleaner(const Language& from, const Language& to, const CleanOptions& options) : from_(from), to_(to), options_(options) {
  check(options.min_words <= options.max_words, "words of a side: expected the least to be no more than the most, found {} and {}",
        options.min_words, options.max_words);
  const double expected = to.density / from.density;
  if (options_.min_ratio == 0) options_.min_ratio = expected / kRatioFactor;
  if (options_.max_ratio == 0) options_.max_ratio = expected * kRatioFactor;
  check(options_.min_ratio < options_.max_ratio, "length ratio: expected the least to be below the most, found {} and {}",
        options_.min_ratio, options_.max_ratio);
}

Drop Cleaner::clean(TextPair& pair) {
  const Drop reason = judge(pair);
  if (reason != Drop::kKept) return reason;
  const bool fresh = seen_.insert(hash_text(pair.target, hash_text(pair.source))).second;
  return fresh ? Drop::kKept : Drop::kDuplicate;
}

Drop Cleaner::judge(TextPair& pair) {
  if (pair.drop != Drop::kKept) return pair.drop;
  if (is_blank(pair.source) || is_blank(pair.target)) return Drop::kEmpty;
  if (has_encoding_fault(pair.source) || has_encoding_fault(pair.target)) return Drop::kMisencoded;
  if (pair.access_keys) remove_access_keys(pair.source, pair.target);
  pair.source = normalize_text(pair.source);
  pair.target = normalize_text(pair.target);
  if (pair.source.empty() || pair.target.empty()) return Drop::kEmpty;
  for (const auto judgement : {&Cleaner::judge_placeholders, &Cleaner::judge_letters, &Cleaner::judge_length}) {
    const Drop reason = (this->*judgement)(pair);
    if (reason != Drop::kKept) return reason;
  }
  return long_numbers(pair.source) == long_numbers(pair.target) ? Drop::kKept : Drop::kNumbers;
}

Drop Cleaner::judge_placeholders(const TextPair& pair) const {
  const auto source = sorted_placeholders(pair.source), target = sorted_placeholders(pair.target);
  if (options_.placeholders == PlaceholderRule::kDrop) return source.empty() && target.empty() ? Drop::kKept : Drop::kPlaceholder;
  return source == target ? Drop::kKept : Drop::kPlaceholderMismatch;
}

Drop Cleaner::judge_letters(const TextPair& pair) const {
  const std::string source = without_placeholders(pair.source), target = without_placeholders(pair.target);
  if (!has_word(source)) return Drop::kNoWords;
  if (has_few_letters(source, letter_weight(from_)) || has_few_letters(target, letter_weight(to_))) return Drop::kFewLetters;
  if (fold_text(source) == fold_text(target)) return Drop::kUntranslated;
  if (!mostly_in_script(source, from_, options_.min_script)) return Drop::kWrongSourceScript;
  if (!mostly_in_script(target, to_, options_.min_script)) return Drop::kWrongTargetScript;
  return Drop::kKept;
}

Drop Cleaner::judge_length(const TextPair& pair) const {
  const auto source = static_cast<double>(length(pair.source)), target = static_cast<double>(length(pair.target));
  const int words = count_words(pair.source, from_);
  if (words < options_.min_words) return Drop::kTooShort;
  if (std::max(words, count_words(pair.target, to_)) > options_.max_words || std::max(source, target) > options_.max_characters)
    return Drop::kTooLong;
  const double ratio = (target + kRatioSlack) / (source + kRatioSlack);
  return ratio >= options_.min_ratio && ratio <= options_.max_ratio ? Drop::kKept : Drop::kLengthRatio;
}

}  // namespace jumok
