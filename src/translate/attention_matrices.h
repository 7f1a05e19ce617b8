// From the maps of forced decoding to the matrices of the public header.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attention/attention_maps.h"
#include "jumok/attention_matrices.h"
#include "text/subwords.h"

namespace jumok {

// Throws Error where there are other than one target a source.
void check_counts(std::span<const std::string> sources, std::span<const std::string> targets);

// The pieces of `ids` and the end symbol.
std::vector<std::string> symbols_of(const Subwords& subwords, const std::vector<int32_t>& ids);

// Throws Error, naming the line, where a weight is not finite.
void check_finite(std::span<const AttentionMaps::Map> maps, int64_t line);

// Adds the weights of the maps of one pair, first layer first.
void add_weights(std::span<const AttentionMaps::Map> maps, AttentionMatrices& matrices);

}  // namespace jumok
