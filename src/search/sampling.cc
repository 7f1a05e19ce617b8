#include "search/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "kernels/top_k.h"
#include "search/single_path.h"

namespace jumok {
namespace {

// A symbol that may be drawn, with its weight exp((logit - largest logit) / temperature).
struct Weighted {
  int32_t symbol;
  double weight;
};

double sum(const std::vector<Weighted>& items) {
  double total = 0;
  for (const Weighted& item : items) total += item.weight;
  return total;
}

class Sampler {
 public:
  Sampler(const SamplingOptions& options, std::span<const uint64_t> seeds) : options_(options), seeds_(seeds) {
    check(options.temperature > 0 && std::isfinite(options.temperature), "sampling: the temperature must be above 0, found {}",
          options.temperature);
    check(options.top_k >= 0, "sampling: top-k must be 0 (all) or more, found {}", options.top_k);
    check(options.top_p > 0 && options.top_p <= 1, "sampling: top-p must be in (0, 1], found {}", options.top_p);
  }

  int32_t draw(int sentence, int length, std::span<const float> logits) {
    options_.top_k > 0 ? weigh_best(logits) : weigh_all(logits);
    if (options_.top_p < 1) keep_nucleus();
    double rest = Rng(seeds_[sentence], static_cast<uint64_t>(length)).uniform() * sum(items_);
    for (const Weighted& item : items_) {
      if (rest < item.weight) return item.symbol;
      rest -= item.weight;
    }
    return items_.back().symbol;  // rounding of the last subtraction
  }

 private:
  void add(int32_t symbol, float logit, float largest) {
    const double weight = std::exp((static_cast<double>(logit) - largest) / options_.temperature);
    if (weight > 0) items_.push_back({symbol, weight});
  }

  void weigh_all(std::span<const float> logits) {
    items_.clear();
    const float largest = *std::max_element(logits.begin(), logits.end());
    for (size_t i = 0; i < logits.size(); ++i) add(static_cast<int32_t>(i), logits[i], largest);
  }

  void weigh_best(std::span<const float> logits) {
    items_.clear();
    const int k = static_cast<int>(std::min(logits.size(), static_cast<size_t>(options_.top_k)));
    symbols_.resize(k);
    values_.resize(k);
    const int count = kernels::top_k(logits.data(), static_cast<int64_t>(logits.size()), k, symbols_.data(), values_.data());
    for (int i = 0; i < count; ++i) add(symbols_[i], values_[i], values_[0]);
  }

  // The fewest items, heaviest first, whose weights reach p of the total. Items lighter than (1 - p) / n of the total need no sorting: all
  // that are as light weigh less than 1 - p together, so the heavier ones already reach p.
  void keep_nucleus() {
    const double total = sum(items_);
    const double light = (1 - options_.top_p) / static_cast<double>(items_.size()) * total;
    std::erase_if(items_, [=](const Weighted& item) { return item.weight < light; });
    std::sort(items_.begin(), items_.end(),
              [](const Weighted& a, const Weighted& b) { return a.weight != b.weight ? a.weight > b.weight : a.symbol < b.symbol; });
    double reached = 0;
    size_t kept = 0;
    while (kept < items_.size() && reached < options_.top_p * total) reached += items_[kept++].weight;
    items_.resize(kept);
  }

  const SamplingOptions& options_;
  std::span<const uint64_t> seeds_;
  std::vector<Weighted> items_;
  std::vector<int32_t> symbols_;
  std::vector<float> values_;
};

}  // namespace

std::vector<Hypothesis> sample(Stepper& model, const SearchOptions& options, const SamplingOptions& sampling,
                               std::span<const uint64_t> seeds, Prefixes prefixes) {
  check(seeds.size() == static_cast<size_t>(model.sentences()), "sampling: expected a seed for each of {} sentences, found {}",
        model.sentences(), seeds.size());
  Sampler sampler(sampling, seeds);
  return single_path(model, options, prefixes,
                     [&](int sentence, int length, std::span<const float> logits) { return sampler.draw(sentence, length, logits); });
}

}  // namespace jumok
