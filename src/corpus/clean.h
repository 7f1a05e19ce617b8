// The filters between a source of text and the corpus: normalise a pair, or say why it is not kept.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "corpus/language.h"
#include "corpus/pair.h"

namespace jumok {

enum class PlaceholderRule {
  kDrop,  // a pair with a placeholder on either side is dropped
  kKeep   // kept where both sides hold the same placeholders, equally often
};

struct CleanOptions {
  PlaceholderRule placeholders = PlaceholderRule::kDrop;
  int min_words = 1;         // of the source; a language without spaces counts two letters as a word
  int max_words = 100;       // of each side, counted likewise
  int max_characters = 600;  // code points of each side
  // Bounds of (target + 4) / (source + 4) in code points, the 4s so that short texts are judged mildly. 0: a third and three times what the
  // two languages' densities let expect (language.h), so 0.17 … 1.5 for en to ko, 0.38 … 3.45 for en to de.
  double min_ratio = 0, max_ratio = 0;
  double min_script = 0.3;  // least share of the letters that are in a script of the language, on each side
};

class Cleaner {
 public:
  // Throws Error for options that contradict each other.
  Cleaner(const Language& from, const Language& to, const CleanOptions& options);

  // Normalises `pair` in place (access-key marks, white space, composed form) and decides. The first reason found counts.
  // Remembers what it kept, to find duplicates.
  Drop clean(TextPair& pair);

 private:
  Drop judge(TextPair& pair);
  Drop judge_placeholders(const TextPair& pair) const;
  Drop judge_letters(const TextPair& pair) const;
  Drop judge_length(const TextPair& pair) const;

  Language from_, to_;
  CleanOptions options_;
  std::unordered_set<uint64_t> seen_;  // hashes of kept pairs: 8 bytes each instead of the text; 10^7 pairs collide with chance 3·10^-6
};

// White space of any kind → single spaces, none at the ends; invisible characters (soft hyphen, zero-width space, direction marks) out;
// NFC.
std::string normalize_text(std::string_view text);

// Lower-cased letters of the text without spaces, punctuation, symbols and digits. Near-duplicates have equal keys; empty for "12 %".
std::string fold_text(std::string_view text);

// Words: runs of non-space; for a language without spaces half its letters, if that is more.
int count_words(std::string_view text, const Language& language);

}  // namespace jumok
