// The score step of every search: feed symbols, take out what may not be produced, normalise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/stepper.h"
#include "search/hypothesis.h"

namespace jumok {

// One row to feed.
struct Feed {
  int32_t parent = 0;  // row of the previous step; at the first step the sentence number
  int32_t symbol = 0;
  int length = 0;  // new symbols so far, this one included; -1 while forced symbols follow (nothing is read from the row's logits)
};

// Wraps a Stepper; checks the options once. Symbols that may not be produced get the logit -inf *before* the normalisation, so that the
// probabilities of the others sum to 1. Throws Error on options or prefixes out of range, and where a model gives logits that are no
// numbers.
class Scorer {
 public:
  Scorer(Stepper& model, const SearchOptions& options, Prefixes prefixes);

  void step(std::span<const Feed> rows);
  // In place of the first steps: every sentence's forced symbols, the start symbol first; the rows then stand before their first new
  // symbol. False where the model cannot, and nothing was fed.
  bool read_prompts(std::span<const std::vector<int32_t>> prompts);

  // Of the last step's row r, valid until the next step. Forbidden symbols: -inf.
  std::span<const float> logits(int r) const { return logits_.subspan(static_cast<size_t>(r) * vocabulary_, vocabulary_); }  // [V]
  // log P(symbol) <= 0: one subtraction in f64, so that sums over long outputs keep their digits.
  double log_prob(int r, int32_t symbol) const;

 private:
  void forbid(std::span<float> row, int length) const;
  void finish(std::span<const Feed> rows);
  void normalise(std::span<const Feed> rows);

  Stepper& model_;
  const int vocabulary_, min_length_;
  const int32_t end_;
  std::vector<int32_t> forbidden_;
  std::vector<int32_t> parents_, symbols_;  // [rows]
  std::span<float> logits_;                 // [rows, V]
  std::vector<float> log_sums_;             // [rows]
};

}  // namespace jumok
