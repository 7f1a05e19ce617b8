// Every weight of a model's attentions for one pair or text, symbol by symbol, and a page to look at them. Translator, Aligner and
// Generator give them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jumok/error.h"

namespace jumok {

// Which of a model's attentions: those of the decoder over the source (of every mechanism), or of a Transformer the self-attentions of its
// encoder or its decoder.
enum class Attentions { kSource, kEncoder, kDecoder };

// What every symbol attended to in every layer and head; symbols are subword pieces. Over the source: from the symbols produced to those of
// the source, end symbols last. In the encoder: from the source's symbols to themselves. In the decoder, and of a language model: from the
// symbols predicted (y_1 … y_n, end) to those fed (start, y_1 … y_n); a symbol sees those before it alone. The sum over the source symbols
// is 1 for most mechanisms (at most 1 for local attention). A pair with a blank side, and a blank text, have no symbols and no weights.
struct AttentionMatrices {
  std::vector<std::string> source_symbols, target_symbols;  // S, T
  int layers = 0, heads = 0;
  std::vector<float> weights;  // [layers, heads, T, S], row-major; row t belongs to target symbol t: to the step that produced it
};

// The weights of one layer and head as a picture, a complete <svg> element: rows are target symbols. -1: the mean of all layers, or of all
// heads of the layer. Throws Error where there is no such layer or head.
std::string attention_svg(const AttentionMatrices& matrices, int layer = -1, int head = -1, std::string_view title = {});

// One self-contained HTML page with every layer and head of each pair that has weights, under the number of the pair (from 1). As many
// sources and targets; of a language model's texts the sources are empty. `references` are empty or as many. Throws Error where the counts
// differ.
std::string attention_page(std::string_view title, std::span<const AttentionMatrices> matrices, std::span<const std::string> sources,
                           std::span<const std::string> targets, std::span<const std::string> references = {});

}  // namespace jumok
