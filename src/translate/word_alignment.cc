#include "translate/word_alignment.h"

#include <algorithm>

#include "text/unicode.h"

namespace jumok {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view w : split_words(text)) words.emplace_back(w);
  return words;
}

// One link a target word: the source word of most weight, the first of equals. A word without any weight has no link.
std::vector<std::pair<int, int>> best_links(const std::vector<float>& weights, int targets, int sources) {
  std::vector<std::pair<int, int>> links;
  for (int t = 0; t < targets; ++t) {
    const float* row = weights.data() + static_cast<size_t>(t) * sources;
    const float* best = std::max_element(row, row + sources);
    if (best != row + sources && *best > 0) links.emplace_back(static_cast<int>(best - row), t);
  }
  std::sort(links.begin(), links.end());
  return links;
}

}  // namespace

SymbolWeights mean_over_heads(const AttentionMaps::Map& map, int sentence, int rows, int columns) {
  SymbolWeights mean{rows, columns, std::vector<float>(static_cast<size_t>(rows) * columns)};
  for (int h = 0; h < map.heads; ++h) {
    const std::vector<float>& weights = map.weights[static_cast<size_t>(sentence) * map.heads + h];
    for (size_t i = 0; i < weights.size(); ++i) mean.weights[i] += weights[i] / static_cast<float>(map.heads);
  }
  return mean;
}

Alignment word_alignment(const SymbolWeights& symbols, std::span<const int32_t> source_word, std::span<const int32_t> target_word,
                         std::string_view source, std::string_view target) {
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
  a.links = best_links(a.weights, targets, sources);
  return a;
}

}  // namespace jumok
