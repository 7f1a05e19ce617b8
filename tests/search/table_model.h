// Small models with known probabilities, for the tests of search.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "base/rng.h"
#include "models/stepper.h"

namespace jumok {

using Symbols = std::vector<int32_t>;
constexpr float kNever = -std::numeric_limits<float>::infinity();

// Logits [V] of the symbol after `history` (all symbols fed so far, start and prefix included) of a source.
using Table = std::function<std::vector<float>(int source, const Symbols& history)>;

// A model that is a function of the whole history. The history is its state: each row carries its own, copied from its parent row as a
// cache would be.
class TableModel : public Stepper {
 public:
  TableModel(int vocabulary, Table table, std::vector<int> sources = {0}, std::vector<int> lengths = {})
      : vocabulary_(vocabulary), table_(std::move(table)), sources_(std::move(sources)), lengths_(std::move(lengths)) {
    lengths_.resize(sources_.size(), 3);
  }

  int vocabulary() const override { return vocabulary_; }
  int sentences() const override { return static_cast<int>(sources_.size()); }
  int source_length(int sentence) const override { return lengths_[sentence]; }

  std::span<float> step(std::span<const int32_t> parents, std::span<const int32_t> symbols) override {
    std::vector<Row> next;
    logits_.clear();
    for (size_t r = 0; r < parents.size(); ++r) {
      Row row = rows_per_step.empty() ? Row{parents[r], {}} : rows_.at(parents[r]);
      row.history.push_back(symbols[r]);
      const std::vector<float> logits = table_(sources_.at(row.sentence), row.history);
      logits_.insert(logits_.end(), logits.begin(), logits.end());
      adjacent = adjacent && (next.empty() || next.back().sentence <= row.sentence);
      next.push_back(std::move(row));
    }
    rows_ = std::move(next);
    rows_per_step.push_back(static_cast<int>(rows_.size()));
    return logits_;
  }

  std::span<float> read_prompts(std::span<const std::vector<int32_t>> prompts) override {
    if (!reads_prompts) return {};
    logits_.clear();
    for (size_t s = 0; s < prompts.size(); ++s) {
      rows_.push_back({static_cast<int>(s), prompts[s]});
      const std::vector<float> logits = table_(sources_.at(s), prompts[s]);
      logits_.insert(logits_.end(), logits.begin(), logits.end());
    }
    rows_per_step.push_back(static_cast<int>(rows_.size()));
    return logits_;
  }

  bool reads_prompts = false;      // whether all symbols of a prefix can be fed at once
  std::vector<int> rows_per_step;  // what search asked for
  bool adjacent = true;            // rows of a sentence stood together in every step

 private:
  struct Row {
    int sentence;
    Symbols history;
  };
  int vocabulary_;
  Table table_;
  std::vector<int> sources_, lengths_;
  std::vector<Row> rows_;
  std::vector<float> logits_;
};

// Probabilities given per history without the start symbol; symbols not named are impossible. A history not named ends for certain in
// `end`.
using Probabilities = std::map<Symbols, std::map<int32_t, double>>;
inline Table from_probabilities(int vocabulary, int32_t end, Probabilities known) {
  return [=](int, const Symbols& history) {
    std::vector<float> logits(vocabulary, kNever);
    const auto found = known.find(Symbols(history.begin() + 1, history.end()));
    if (found == known.end()) {
      logits[end] = 0;
    } else {
      for (const auto& [symbol, p] : found->second) logits[symbol] = static_cast<float>(std::log(p));
    }
    return logits;
  };
}

// Normal random logits that depend on the seed, the source and every symbol of the history.
inline Table random_table(int vocabulary, uint64_t seed, double spread = 1.5) {
  return [=](int source, const Symbols& history) {
    uint64_t key = hash_words(seed, source);
    for (const int32_t symbol : history) key = hash_words(key, symbol + 1);
    Rng rng(key);
    std::vector<float> logits(vocabulary);
    for (float& logit : logits) logit = static_cast<float>(spread * rng.normal());
    return logits;
  };
}

// log softmax in f64 over the symbols that may be produced; the others -inf.
inline std::vector<double> log_softmax(const std::vector<float>& logits, const Symbols& forbidden) {
  std::vector<double> values(logits.begin(), logits.end());
  for (const int32_t symbol : forbidden) values[symbol] = kNever;
  double total = 0;
  for (const double value : values) total += std::exp(value);
  for (double& value : values) value -= std::log(total);
  return values;
}

// log P of new tokens (and the end symbol, unless it is -1) after a history, by feeding everything anew: what forced decoding gives.
inline double forced_log_prob(const Table& table, int source, Symbols history, const Symbols& tokens, int32_t end,
                              const Symbols& forbidden) {
  Symbols all = tokens;
  if (end >= 0) all.push_back(end);
  double sum = 0;
  for (const int32_t symbol : all) {
    sum += log_softmax(table(source, history), forbidden)[symbol];
    history.push_back(symbol);
  }
  return sum;
}

}  // namespace jumok
