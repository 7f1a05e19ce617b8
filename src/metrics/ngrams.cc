#include "metrics/ngrams.h"

#include <algorithm>
#include <vector>

namespace jumok::metrics {
namespace {

using Ngram = std::span<const uint32_t>;

bool less(Ngram a, Ngram b) { return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end()); }

std::vector<Ngram> sorted_ngrams(std::span<const uint32_t> sequence, size_t order) {
  std::vector<Ngram> ngrams;
  for (size_t begin = 0; begin + order <= sequence.size(); ++begin) ngrams.push_back(sequence.subspan(begin, order));
  std::sort(ngrams.begin(), ngrams.end(), less);
  return ngrams;
}

}  // namespace

NgramMatches& NgramMatches::operator+=(const NgramMatches& other) {
  hypothesis += other.hypothesis;
  reference += other.reference;
  matches += other.matches;
  return *this;
}

NgramMatches match_ngrams(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference, int order) {
  const auto a = sorted_ngrams(hypothesis, static_cast<size_t>(order));
  const auto b = sorted_ngrams(reference, static_cast<size_t>(order));
  NgramMatches result{static_cast<int64_t>(a.size()), static_cast<int64_t>(b.size()), 0};
  // Merging two sorted multisets pairs each n-gram off min(count, count) times: that is the clipping.
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (less(a[i], b[j])) {
      ++i;
    } else if (less(b[j], a[i])) {
      ++j;
    } else {
      ++result.matches, ++i, ++j;
    }
  }
  return result;
}

}  // namespace jumok::metrics
