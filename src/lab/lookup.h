// Translating by looking up: the answer to a sentence is the translation of the most similar sentence seen in training. What a trained
// translator has to beat.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace jumok {

// What counts as a word here: a longest run of characters that are neither white space nor punctuation, in lower case. "Don't!" is don, t.
std::vector<std::string> lookup_words(std::string_view text);

// Immutable; any number of threads may ask at the same time.
class Lookup {
 public:
  struct Match {
    int64_t line = -1;      // of the training sources, from 0; -1: none has a word in common
    double similarity = 0;  // 0 to 1
  };

  explicit Lookup(std::span<const std::string> sources);

  // The line x most similar to `text`, by the cosine of bags of words weighted by inverse document frequency (Salton and Buckley 1988):
  //   similarity(x, y) = Σ_w a_w(x) a_w(y) / (|a(x)| |a(y)|)      a_w(x) = count of w in x · idf(w)      idf(w) = 1 + ln((1 + N) / (1 +
  //   N_w))
  // N: training lines, N_w: those with the word w. Of equally similar lines the first. Words never seen (N_w = 0) count in |a(text)| only.
  Match nearest(std::string_view text) const;

 private:
  struct Posting {
    uint32_t line;
    double weight;  // a_w(x) / |a(x)|
  };

  double idf(size_t lines_with_word) const;

  size_t lines_ = 0;                                 // N
  std::unordered_map<std::string, uint32_t> words_;  // numbered in the order of their first appearance
  std::vector<std::vector<Posting>> postings_;       // of each word, by line
};

}  // namespace jumok
