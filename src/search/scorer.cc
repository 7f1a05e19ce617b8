#include "search/scorer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernels/softmax.h"

namespace jumok {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

void check_symbol(int32_t symbol, int vocabulary, const char* what) {
  check(symbol >= 0 && symbol < vocabulary, "search: {} must be in [0, {}), found {}", what, vocabulary, symbol);
}

void check_options(const SearchOptions& options, int vocabulary) {
  check(options.alpha >= 0 && std::isfinite(options.alpha), "search: alpha must be 0 or more, found {}", options.alpha);
  check(options.max_length >= 0, "search: the maximum length must be 0 (by the source) or more, found {}", options.max_length);
  check(options.min_length >= 0, "search: the minimum length must be 0 or more, found {}", options.min_length);
  check_symbol(options.start, vocabulary, "the start symbol");
  check_symbol(options.end, vocabulary, "the end symbol");
  check(options.unknown < vocabulary, "search: the unknown symbol must be below {}, found {}", vocabulary, options.unknown);
  for (const int32_t symbol : options.forbidden) {
    check_symbol(symbol, vocabulary, "a forbidden symbol");
    check(symbol != options.end, "search: the end symbol {} is among the forbidden ones; no output could end", symbol);
  }
}

void check_prefixes(Prefixes prefixes, int sentences, int vocabulary) {
  check(prefixes.empty() || prefixes.size() == static_cast<size_t>(sentences),
        "search: expected no prefix or one for each of {} sentences, found {}", sentences, prefixes.size());
  for (const auto& prefix : prefixes) {
    for (const int32_t symbol : prefix) check_symbol(symbol, vocabulary, "a prefix symbol");
  }
}

}  // namespace

Scorer::Scorer(Stepper& model, const SearchOptions& options, Prefixes prefixes)
    : model_(model), vocabulary_(model.vocabulary()), min_length_(options.min_length), end_(options.end), forbidden_(options.forbidden) {
  check_options(options, vocabulary_);
  check_prefixes(prefixes, model.sentences(), vocabulary_);
  if (options.start != options.end) forbidden_.push_back(options.start);
  if (options.unknown >= 0 && !options.allow_unknown) forbidden_.push_back(options.unknown);
}

void Scorer::step(std::span<const Feed> rows) {
  parents_.clear();
  symbols_.clear();
  for (const Feed& row : rows) {
    parents_.push_back(row.parent);
    symbols_.push_back(row.symbol);
  }
  logits_ = model_.step(parents_, symbols_);
  finish(rows);
}

bool Scorer::read_prompts(std::span<const std::vector<int32_t>> prompts) {
  logits_ = model_.read_prompts(prompts);
  if (logits_.empty()) return false;
  finish(std::vector<Feed>(prompts.size()));
  return true;
}

// What may not be produced leaves, and the sums are made.
void Scorer::finish(std::span<const Feed> rows) {
  assert(logits_.size() == rows.size() * vocabulary_);
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].length >= 0) forbid(logits_.subspan(r * vocabulary_, vocabulary_), rows[r].length);
  }
  normalise(rows);
}

void Scorer::forbid(std::span<float> row, int length) const {
  for (const int32_t symbol : forbidden_) row[symbol] = kImpossible;
  if (length < min_length_) row[end_] = kImpossible;
}

void Scorer::normalise(std::span<const Feed> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  log_sums_.resize(rows.size());
  kernels::log_sum_exp({logits_.data(), count, vocabulary_, vocabulary_}, log_sums_.data());
  for (size_t r = 0; r < rows.size(); ++r) {
    check(rows[r].length < 0 || std::isfinite(log_sums_[r]),
          "search: the model's logits after {} new symbols must be numbers and leave a symbol to produce; their log-sum-exp is {}",
          rows[r].length, log_sums_[r]);
  }
}

double Scorer::log_prob(int r, int32_t symbol) const {
  // The f32 log-sum-exp may round below the largest logit; a probability above 1 would break the bound of length_penalty.h.
  return std::min(0.0, static_cast<double>(logits(r)[symbol]) - static_cast<double>(log_sums_[r]));
}

}  // namespace jumok
