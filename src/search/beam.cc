#include "search/beam.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/top_k.h"
#include "search/length_penalty.h"
#include "search/scorer.h"

namespace jumok {
namespace {

// A symbol of the history tree: hypotheses share their beginnings.
struct Node {
  int32_t symbol;
  int previous;  // node before, -1 at the first new symbol
};

// A hypothesis that may still grow.
struct Open {
  double log_prob = 0;
  Feed feed;      // what to feed next
  int node = -1;  // its last new symbol
};

// An open hypothesis and a symbol to extend it by.
struct Candidate {
  double log_prob;
  int parent;  // index among the sentence's open hypotheses, which stand in falling order
  int32_t symbol;
};

bool better(const Candidate& a, const Candidate& b) {
  if (a.log_prob != b.log_prob) return a.log_prob > b.log_prob;
  return a.parent != b.parent ? a.parent < b.parent : a.symbol < b.symbol;
}

// The search of one sentence.
struct Sentence {
  int number = 0, limit = 0;
  std::span<const int32_t> prefix;  // not yet fed
  int first_row = 0;                // row of open[0] in the last step
  std::vector<Open> open;           // log P falling
  std::vector<Hypothesis> done;     // in the order they ended
  std::vector<Node> nodes;
};

class BeamSearch {
 public:
  BeamSearch(Stepper& model, const SearchOptions& options, Prefixes prefixes)
      : scorer_(model, options, prefixes), options_(options), results_(model.sentences()) {
    check(options.beam >= 1, "search: expected a beam of at least 1, found {}", options.beam);
    check(options.nbest >= 1 && options.nbest <= options.beam, "search: n-best must be in [1, {}] (the beam), found {}", options.beam,
          options.nbest);
    for (int s = 0; s < model.sentences(); ++s) {
      Sentence sentence{.number = s};
      if (!prefixes.empty()) sentence.prefix = prefixes[s];
      sentence.limit = length_limit(options.max_length, model, s, sentence.prefix.size());
      sentence.open.push_back({.feed = {s, options.start, sentence.prefix.empty() ? 0 : -1}});  // one copy: equal ones would stay equal
      sentences_.push_back(std::move(sentence));
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    while (!sentences_.empty()) {
      score();
      for (Sentence& sentence : sentences_) {
        if (sentence.prefix.empty()) {
          expand(sentence);
        } else {
          force(sentence);
        }
      }
      retire();
    }
    return std::move(results_);
  }

 private:
  // Feeds the open hypotheses of all sentences as one batch of rows.
  void score() {
    feeds_.clear();
    for (Sentence& sentence : sentences_) {
      sentence.first_row = static_cast<int>(feeds_.size());
      for (const Open& open : sentence.open) feeds_.push_back(open.feed);
    }
    scorer_.step(feeds_);
  }

  void force(Sentence& sentence) {
    const int32_t symbol = sentence.prefix.front();
    sentence.prefix = sentence.prefix.subspan(1);
    sentence.open[0].feed = {sentence.first_row, symbol, sentence.prefix.empty() ? 0 : -1};
  }

  // Gives the free places to the best candidates.
  void expand(Sentence& sentence) {
    const int places = options_.beam - static_cast<int>(sentence.done.size());
    collect_candidates(sentence, places);
    const auto kept = std::min(candidates_.size(), static_cast<size_t>(places));
    std::partial_sort(candidates_.begin(), candidates_.begin() + kept, candidates_.end(), better);
    parents_.swap(sentence.open);
    sentence.open.clear();
    for (size_t i = 0; i < kept; ++i) extend(sentence, candidates_[i]);
  }

  // The best `places` extensions of each open hypothesis: the best of all are among them.
  void collect_candidates(const Sentence& sentence, int places) {
    candidates_.clear();
    symbols_.resize(places);
    values_.resize(places);
    for (int parent = 0; parent < static_cast<int>(sentence.open.size()); ++parent) {
      const int row = sentence.first_row + parent;
      const std::span<const float> logits = scorer_.logits(row);
      const int count = kernels::top_k(logits.data(), static_cast<int64_t>(logits.size()), places, symbols_.data(), values_.data());
      for (int i = 0; i < count && std::isfinite(values_[i]); ++i) {
        candidates_.push_back({sentence.open[parent].log_prob + scorer_.log_prob(row, symbols_[i]), parent, symbols_[i]});
      }
    }
  }

  void extend(Sentence& sentence, const Candidate& candidate) {
    const Open& parent = parents_[candidate.parent];
    const int length = parent.feed.length + 1;
    if (candidate.symbol == options_.end) {
      finish(sentence, candidate.log_prob, length, parent.node, false);
      return;
    }
    sentence.nodes.push_back({candidate.symbol, parent.node});
    const int node = static_cast<int>(sentence.nodes.size()) - 1;
    if (length == sentence.limit) {
      finish(sentence, candidate.log_prob, length, node, true);
    } else {
      sentence.open.push_back({candidate.log_prob, {sentence.first_row + candidate.parent, candidate.symbol, length}, node});
    }
  }

  void finish(Sentence& sentence, double log_prob, int length, int node, bool cut) {
    Hypothesis hypothesis{.log_prob = log_prob, .score = length_score(log_prob, length, options_.alpha), .cut = cut};
    for (; node >= 0; node = sentence.nodes[node].previous) hypothesis.tokens.push_back(sentence.nodes[node].symbol);
    std::reverse(hypothesis.tokens.begin(), hypothesis.tokens.end());
    sentence.done.push_back(std::move(hypothesis));
  }

  // Takes the sentences out of the batch in which no open hypothesis can still win.
  void retire() {
    for (Sentence& sentence : sentences_) {
      if (!decided(sentence)) continue;
      rank(sentence.done);
      if (sentence.done.size() > static_cast<size_t>(options_.nbest)) sentence.done.resize(options_.nbest);
      results_[sentence.number] = std::move(sentence.done);
      sentence.open.clear();
    }
    std::erase_if(sentences_, [](const Sentence& sentence) { return sentence.open.empty(); });
  }

  bool decided(const Sentence& sentence) const {
    if (sentence.open.empty()) return true;
    const double bound = best_reachable_score(sentence.open[0].log_prob, sentence.limit, options_.alpha);
    const auto unbeaten = std::count_if(sentence.done.begin(), sentence.done.end(), [=](const Hypothesis& h) { return h.score >= bound; });
    return unbeaten >= options_.nbest;
  }

  // Scores falling; of equal ones the one that ended first, so that going on for a longer list never changes its beginning.
  static void rank(std::vector<Hypothesis>& done) {
    std::stable_sort(done.begin(), done.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  }

  Scorer scorer_;
  const SearchOptions& options_;
  std::vector<Sentence> sentences_;  // those still searched, in rising order
  std::vector<std::vector<Hypothesis>> results_;
  std::vector<Feed> feeds_;            // of the step
  std::vector<Candidate> candidates_;  // of the sentence being expanded, as are these:
  std::vector<Open> parents_;
  std::vector<int32_t> symbols_;
  std::vector<float> values_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Stepper& model, const SearchOptions& options, Prefixes prefixes) {
  return BeamSearch(model, options, prefixes).run();
}

}  // namespace jumok
