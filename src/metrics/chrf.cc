#include "metrics/chrf.h"

#include "base/error.h"
#include "metrics/signature.h"
#include "metrics/words.h"
#include "text/python_text.h"
#include "text/unicode.h"

namespace jumok {
namespace metrics {
namespace {

constexpr int kMaxOrder = 16, kMaxBeta = 100;

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Words with one mark cut off, at the end or else at the beginning: "(hi)" is "(hi" and ")", as in chrF++.py.
std::vector<std::u32string_view> words_and_marks(std::u32string_view text) {
  std::vector<std::u32string_view> out;
  for (const auto word : python::split(text)) {
    if (word.size() > 1 && is_ascii_punctuation(word.back())) {
      out.insert(out.end(), {word.substr(0, word.size() - 1), word.substr(word.size() - 1)});
    } else if (word.size() > 1 && is_ascii_punctuation(word.front())) {
      out.insert(out.end(), {word.substr(0, 1), word.substr(1)});
    } else {
      out.push_back(word);
    }
  }
  return out;
}

std::vector<uint32_t> without_spaces(std::u32string_view text) {
  std::vector<uint32_t> characters;
  characters.reserve(text.size());
  for (const char32_t c : text) {
    if (!python::is_space(c)) characters.push_back(c);
  }
  return characters;
}

// A reference too short for an order says nothing about it: the hypothesis' n-grams of that order do not count.
NgramMatches matches_of(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference, int order) {
  auto counts = match_ngrams(hypothesis, reference, order);
  if (counts.reference == 0) counts.hypothesis = 0;
  return counts;
}

}  // namespace

ChrfStatistics::ChrfStatistics(const MetricOptions& options) : options_(options) {
  check(options.char_order >= 1 && options.char_order <= kMaxOrder, "char_order: expected 1 to {}, found {}", kMaxOrder,
        options.char_order);
  check(options.word_order >= 0 && options.word_order <= kMaxOrder, "word_order: expected 0 to {}, found {}", kMaxOrder,
        options.word_order);
  check(options.beta >= 1 && options.beta <= kMaxBeta, "beta: expected 1 to {}, found {}", kMaxBeta, options.beta);
  counts_.resize(static_cast<size_t>(options.char_order + options.word_order));
}

void ChrfStatistics::add(std::string_view hypothesis, std::string_view reference) {
  auto hypothesis_text = code_points(hypothesis), reference_text = code_points(reference);
  if (options_.chrf_lowercase) hypothesis_text = python::lower(hypothesis_text), reference_text = python::lower(reference_text);
  auto count = counts_.begin();
  const auto hypothesis_characters = without_spaces(hypothesis_text), reference_characters = without_spaces(reference_text);
  for (int order = 1; order <= options_.char_order; ++order) *count++ += matches_of(hypothesis_characters, reference_characters, order);
  if (options_.word_order == 0) return;
  WordNumbers number;
  const auto hypothesis_words = number(words_and_marks(hypothesis_text)), reference_words = number(words_and_marks(reference_text));
  for (int order = 1; order <= options_.word_order; ++order) *count++ += matches_of(hypothesis_words, reference_words, order);
}

// P, R: mean n-gram precision and recall over the orders that both sides have ("effective order").
// chrFβ = 100 · (1 + β²) P R / (β² P + R)
double ChrfStatistics::f_score() const {
  double precision = 0, recall = 0, orders = 0;
  for (const auto& count : counts_) {
    if (count.hypothesis == 0 || count.reference == 0) continue;
    precision += static_cast<double>(count.matches) / static_cast<double>(count.hypothesis);
    recall += static_cast<double>(count.matches) / static_cast<double>(count.reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const double factor = static_cast<double>(options_.beta) * options_.beta;
  return 100.0 * (1 + factor) * precision * recall / (factor * precision + recall);
}

ChrfScore ChrfStatistics::score() const {
  ChrfScore result;
  result.score = f_score();
  result.name = fmt::format("chrF{}{}", options_.beta, std::string(static_cast<size_t>(options_.word_order), '+'));
  result.signature =
      signature(options_.chrf_lowercase, fmt::format("eff:yes|nc:{}|nw:{}|space:no", options_.char_order, options_.word_order));
  return result;
}

}  // namespace metrics

ChrfScore chrf(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, const MetricOptions& options) {
  metrics::check_line_counts(hypotheses.size(), references.size());
  metrics::ChrfStatistics statistics(options);
  for (size_t i = 0; i < hypotheses.size(); ++i) statistics.add(hypotheses[i], references[i]);
  return statistics.score();
}

std::string to_string(const ChrfScore& score) { return fmt::format("{} = {:.2f}", score.name, score.score); }

}  // namespace jumok
