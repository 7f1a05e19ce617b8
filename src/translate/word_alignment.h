// From attention between subword symbols to links between words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/multi_head.h"
#include "jumok/aligner.h"
#include "jumok/translator.h"

namespace jumok {

// The attention that alignments are read from, by its number among the `layers` over the source: `chosen`, or for -1 the last but one,
// where links are sharpest (Garg et al. 2019), and the only one where there is one. Throws Error where there is none of that number.
int alignment_layer(int chosen, int layers);

// The most symbols of a side, end symbol not counted, so that a pair's weights in so many matrices (attentions × heads) take 1 GB at most:
// a recurrent model has no last position, and the weights grow with the square of the length.
int longest_aligned(int matrices);
// The most target symbols by the same limit, beside a source of so many.
int longest_aligned_target(int matrices, size_t source);

// The weights of one sentence: [T, S] of target symbols (end symbol last) by source symbols (end symbol last).
struct SymbolWeights {
  int rows = 0, columns = 0;
  std::vector<float> weights;
};
SymbolWeights mean_over_heads(const AttentionMaps::Map& map, int sentence, int rows, int columns);
// Those of one head, or the mean for head -1. At the step kInput row t holds the weights of the step that read symbol t; the end symbol's
// is 0.
SymbolWeights symbol_weights(const AttentionMaps::Map& map, int head, AttentionStep step, int rows, int columns);

// source_word [S - 1] and target_word [T - 1]: the word of each symbol, -1 for none. The end symbols' row and column are left out.
Alignment word_alignment(const SymbolWeights& symbols, std::span<const int32_t> source_word, std::span<const int32_t> target_word,
                         std::string_view source, std::string_view target, const LinkOptions& links = {});

}  // namespace jumok
