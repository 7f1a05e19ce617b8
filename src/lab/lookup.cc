#include "lab/lookup.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "text/unicode.h"

namespace jumok {

std::vector<std::string> lookup_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  const std::string folded = simple_lowercase(text);
  for (size_t i = 0; i < folded.size();) {
    const char32_t c = next_code_point(folded, i);
    const bool part = !is_space(c) && !is_punctuation(c);
    if (part && !inside) words.emplace_back();
    if (part) append_utf8(words.back(), c);
    inside = part;
  }
  return words;
}

double Lookup::idf(size_t lines_with_word) const {
  return 1 + std::log((1 + static_cast<double>(lines_)) / (1 + static_cast<double>(lines_with_word)));
}

// Postings hold the bare counts first; when all are in, N_w is known and counts become weights.
Lookup::Lookup(std::span<const std::string> sources) : lines_(sources.size()) {
  check(lines_ <= std::numeric_limits<uint32_t>::max(), "lookup: expected at most {} lines, found {}", std::numeric_limits<uint32_t>::max(),
        lines_);
  for (uint32_t line = 0; line < lines_; ++line) {
    std::map<std::string, int> counts;
    for (std::string& word : lookup_words(sources[line])) ++counts[std::move(word)];
    for (const auto& [word, count] : counts) {
      const auto [entry, added] = words_.try_emplace(word, static_cast<uint32_t>(postings_.size()));
      if (added) postings_.emplace_back();
      postings_[entry->second].push_back({line, static_cast<double>(count)});
    }
  }
  std::vector<double> squares(lines_);  // |a(x)|², summed in the order of word numbers, so that equal bags get equal bits: ties are exact
  for (auto& list : postings_) {
    const double weight = idf(list.size());
    for (Posting& p : list) {
      p.weight *= weight;
      squares[p.line] += p.weight * p.weight;
    }
  }
  for (auto& list : postings_) {
    for (Posting& p : list) p.weight /= std::sqrt(squares[p.line]);
  }
}

Lookup::Match Lookup::nearest(std::string_view text) const {
  std::map<uint32_t, int> counts;  // in the order of word numbers: as in the constructor
  std::map<std::string, int> unseen;
  for (std::string& word : lookup_words(text)) {
    const auto entry = words_.find(word);
    if (entry != words_.end()) {
      ++counts[entry->second];
    } else {
      ++unseen[std::move(word)];
    }
  }
  double square = 0;
  const auto weigh = [&](int count, size_t lines_with_word) {
    const double a = count * idf(lines_with_word);
    square += a * a;
    return a;
  };
  std::vector<double> sums(counts.empty() ? 0 : lines_);
  for (const auto& [word, count] : counts) {
    const double a = weigh(count, postings_[word].size());
    for (const Posting& p : postings_[word]) sums[p.line] += a * p.weight;
  }
  for (const auto& [word, count] : unseen) weigh(count, 0);
  if (sums.empty()) return {};
  const auto best = std::max_element(sums.begin(), sums.end());  // the first of equal ones
  return {best - sums.begin(), std::min(1.0, *best / std::sqrt(square))};
}

}  // namespace jumok
