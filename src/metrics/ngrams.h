// Clipped n-gram matches of two sequences, what BLEU and chrF both count.
#pragma once

#include <cstdint>
#include <span>

namespace jumok::metrics {

struct NgramMatches {
  int64_t hypothesis = 0;  // n-grams in the hypothesis
  int64_t reference = 0;   // n-grams in the reference
  int64_t matches = 0;     // Σ over distinct n-grams of min(count in hypothesis, count in reference)

  NgramMatches& operator+=(const NgramMatches& other);
};

// n-grams of length `order` >= 1. The symbols are code points or word numbers.
NgramMatches match_ngrams(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference, int order);

}  // namespace jumok::metrics
