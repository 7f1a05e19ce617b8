#include "translate/word_alignment.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/unicode.h"

namespace jumok {
namespace {

constexpr int64_t kMostWeights = int64_t{1} << 28;  // of one pair: 1 GB

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view w : split_words(text)) words.emplace_back(w);
  return words;
}

WordLinks links_of(const std::vector<float>& weights, int targets, int sources, const LinkOptions& options) {
  const auto linked = [&](float weight) { return weight > 0 && weight >= static_cast<float>(options.threshold); };
  WordLinks links;
  for (int t = 0; t < targets; ++t) {
    const float* row = weights.data() + static_cast<size_t>(t) * sources;
    const auto best = static_cast<int>(std::max_element(row, row + sources) - row);  // the first of equals
    for (int s = 0; s < sources; ++s) {
      if (linked(row[s]) && (options.rule == LinkRule::kThreshold || s == best)) links.push_back({s, t});
    }
  }
  std::sort(links.begin(), links.end());
  return links;
}

}  // namespace

int alignment_layer(int chosen, int layers) {
  check(chosen >= -1 && chosen < layers, "alignment layer {}: expected 0 to {}, or -1 for the last but one", chosen, layers - 1);
  return chosen >= 0 ? chosen : std::max(0, layers - 2);
}

int longest_aligned(int matrices) { return static_cast<int>(std::sqrt(static_cast<double>(kMostWeights / std::max(matrices, 1)))) - 1; }

int longest_aligned_target(int matrices, size_t source) {
  const int64_t rows = kMostWeights / (std::max(matrices, 1) * (static_cast<int64_t>(source) + 1));
  return static_cast<int>(std::max<int64_t>(rows, 1)) - 1;
}

SymbolWeights mean_over_heads(const AttentionMaps::Map& map, int sentence, int rows, int columns) {
  SymbolWeights mean{rows, columns, std::vector<float>(static_cast<size_t>(rows) * columns)};
  for (int h = 0; h < map.heads; ++h) {
    const std::vector<float>& weights = map.weights[static_cast<size_t>(sentence) * map.heads + h];
    for (size_t i = 0; i < weights.size(); ++i) mean.weights[i] += weights[i] / static_cast<float>(map.heads);
  }
  return mean;
}

SymbolWeights symbol_weights(const AttentionMaps::Map& map, int head, AttentionStep step, int rows, int columns) {
  SymbolWeights w =
      head < 0 ? mean_over_heads(map, 0, rows, columns) : SymbolWeights{rows, columns, map.weights[static_cast<size_t>(head)]};
  if (step == AttentionStep::kInput) {
    w.weights.erase(w.weights.begin(), w.weights.begin() + columns);
    w.weights.resize(static_cast<size_t>(rows) * columns);
  }
  return w;
}

Alignment word_alignment(const SymbolWeights& symbols, std::span<const int32_t> source_word, std::span<const int32_t> target_word,
                         std::string_view source, std::string_view target, const LinkOptions& links) {
  Alignment a;
  a.source_words = words_of(source);
  a.target_words = words_of(target);
  const int sources = static_cast<int>(a.source_words.size()), targets = static_cast<int>(a.target_words.size());
  a.weights.assign(static_cast<size_t>(targets) * sources, 0.0f);
  std::vector<int> pieces(targets, 0);
  for (size_t t = 0; t < target_word.size(); ++t) {
    const int32_t word = target_word[t];
    if (word < 0 || word >= targets) continue;
    ++pieces[word];
    for (size_t s = 0; s < source_word.size(); ++s) {
      if (source_word[s] < 0 || source_word[s] >= sources) continue;
      a.weights[static_cast<size_t>(word) * sources + source_word[s]] += symbols.weights[t * symbols.columns + s];
    }
  }
  for (int t = 0; t < targets; ++t) {
    for (int s = 0; s < sources; ++s) a.weights[static_cast<size_t>(t) * sources + s] /= static_cast<float>(std::max(pieces[t], 1));
  }
  a.links = links_of(a.weights, targets, sources, links);
  return a;
}

}  // namespace jumok
