#include "metrics/bleu.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "metrics/signature.h"
#include "metrics/tokenizers.h"
#include "metrics/words.h"
#include "text/python_text.h"
#include "text/unicode.h"

namespace jumok {
namespace metrics {
namespace {

std::u32string words_of(std::string_view line, const MetricOptions& options) {
  auto text = code_points(line);
  if (options.lowercase) text = python::lower(text);
  return tokenize(text, options.tokenizer);
}

double default_smooth_value(Smoothing smoothing) { return smoothing == Smoothing::kFloor ? 0.1 : 1.0; }

std::string smoothing_name(Smoothing smoothing, double value) {
  switch (smoothing) {
    case Smoothing::kNone:
      return "none";
    case Smoothing::kFloor:
      return fmt::format("floor[{:.2f}]", value);
    case Smoothing::kAddK:
      return fmt::format("add-k[{:.2f}]", value);
    case Smoothing::kExp:
      break;
  }
  return "exp";
}

// Why a score of 0 is no fault of the translation, or "".
std::string note_on(const std::array<NgramMatches, kBleuOrder>& counts, bool effective_order, Smoothing smoothing) {
  if (counts.front().hypothesis == 0) return "the hypotheses have no words, so BLEU is 0";
  // add-k gives an order without n-grams a precision of 1.
  if (effective_order || smoothing == Smoothing::kAddK || counts.back().hypothesis > 0) return "";
  return fmt::format("no hypothesis has {0} words, so there is no {0}-gram and BLEU-{0} is 0", kBleuOrder);
}

}  // namespace

BleuStatistics::BleuStatistics(const MetricOptions& options, bool effective_order)
    : options_(options),
      smooth_value_(options.smooth_value.value_or(default_smooth_value(options.smoothing))),
      effective_order_(effective_order) {
  check(smooth_value_ > 0 && std::isfinite(smooth_value_), "smooth_value: expected a number above 0, found {}", smooth_value_);
}

void BleuStatistics::add(std::string_view hypothesis, std::string_view reference) {
  const auto hypothesis_text = words_of(hypothesis, options_);
  const auto reference_text = words_of(reference, options_);
  WordNumbers number;
  const auto hypothesis_words = number(python::split(hypothesis_text));
  const auto reference_words = number(python::split(reference_text));
  for (int order = 1; order <= kBleuOrder; ++order) {
    counts_[static_cast<size_t>(order - 1)] += match_ngrams(hypothesis_words, reference_words, order);
  }
}

// p_n = 100 · matches / n-grams, in percent. `without_match` counts the orders below that needed exponential smoothing.
double BleuStatistics::precision(int order, int& without_match) const {
  const auto& count = counts_[static_cast<size_t>(order - 1)];
  const double added = options_.smoothing == Smoothing::kAddK && order > 1 ? smooth_value_ : 0.0;
  const double matches = static_cast<double>(count.matches) + added;
  const double total = static_cast<double>(count.hypothesis) + added;
  if (total == 0) return 0;
  if (matches > 0) return 100.0 * matches / total;
  if (options_.smoothing == Smoothing::kExp) return 100.0 / (std::exp2(++without_match) * total);
  return options_.smoothing == Smoothing::kFloor ? 100.0 * smooth_value_ / total : 0.0;
}

// exp(1/N Σ_n log p_n); N is 4, or with effective order the longest n-gram there is.
double BleuStatistics::geometric_mean(const std::vector<double>& precisions) const {
  size_t orders = precisions.size();
  if (effective_order_ && options_.smoothing != Smoothing::kAddK) {
    while (orders > 1 && counts_[orders - 1].hypothesis == 0) --orders;
  }
  double sum = 0;
  for (size_t i = 0; i < orders; ++i) {
    if (precisions[i] == 0) return 0;
    sum += std::log(precisions[i]);
  }
  return std::exp(sum / static_cast<double>(orders));
}

BleuScore BleuStatistics::score() const {
  BleuScore result;
  result.hypothesis_length = counts_.front().hypothesis;
  result.reference_length = counts_.front().reference;
  const auto hypothesis_length = static_cast<double>(result.hypothesis_length),
             reference_length = static_cast<double>(result.reference_length);
  if (result.reference_length > 0) result.ratio = hypothesis_length / reference_length;
  if (result.hypothesis_length < result.reference_length) {
    result.brevity_penalty = result.hypothesis_length > 0 ? std::exp(1 - reference_length / hypothesis_length) : 0.0;
  }
  bool any_match = false;
  for (const auto& count : counts_) {
    result.matches.push_back(count.matches);
    result.totals.push_back(count.hypothesis);
    any_match = any_match || count.matches > 0;
  }
  result.precisions.assign(kBleuOrder, 0.0);
  // Without any match there is nothing to smooth: the score stays 0.
  if (any_match) {
    int without_match = 0;
    for (int order = 1; order <= kBleuOrder; ++order) {
      result.precisions[static_cast<size_t>(order - 1)] = precision(order, without_match);
    }
    result.score = result.brevity_penalty * geometric_mean(result.precisions);
  }
  result.signature =
      signature(options_.lowercase, fmt::format("eff:{}|tok:{}|smooth:{}", effective_order_ ? "yes" : "no", name_of(options_.tokenizer),
                                                smoothing_name(options_.smoothing, smooth_value_)));
  result.note = note_on(counts_, effective_order_, options_.smoothing);
  return result;
}

}  // namespace metrics

BleuScore bleu(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, const MetricOptions& options) {
  metrics::check_line_counts(hypotheses.size(), references.size());
  metrics::BleuStatistics statistics(options);
  for (size_t i = 0; i < hypotheses.size(); ++i) statistics.add(hypotheses[i], references[i]);
  return statistics.score();
}

BleuScore sentence_bleu(const std::string& hypothesis, const std::string& reference, const MetricOptions& options) {
  metrics::BleuStatistics statistics(options, /*effective_order=*/true);
  statistics.add(hypothesis, reference);
  return statistics.score();
}

std::string to_string(const BleuScore& score) {
  std::string precisions;
  for (const double precision : score.precisions) precisions += fmt::format("{}{:.1f}", precisions.empty() ? "" : "/", precision);
  return fmt::format("BLEU = {:.2f} {} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", score.score, precisions,
                     score.brevity_penalty, score.ratio, score.hypothesis_length, score.reference_length);
}

}  // namespace jumok
