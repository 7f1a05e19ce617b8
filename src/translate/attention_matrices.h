// From the maps of forced decoding to the matrices of the public header.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attention/attention_maps.h"
#include "jumok/attention_matrices.h"
#include "models/model_files.h"
#include "translate/forced.h"

namespace jumok {

// Throws Error where there are other than one target a source.
void check_counts(std::span<const std::string> sources, std::span<const std::string> targets);

// Throws Error, naming the line, where a weight is not finite.
void check_finite(std::span<const AttentionMaps::Map> maps, int64_t line);

struct MatricesRequest {
  Attentions which = Attentions::kSource;
  int64_t first_line = 1;     // of the first pair, for messages
  int64_t batch_rows = 2048;  // symbols of either side computed at once; results do not depend on it
};
// By forced decoding of pairs that are cut to what the model has positions for and memory is kept for. Throws Error where the model has no
// such attention, and where a weight is not finite.
std::vector<AttentionMatrices> forced_matrices(const LoadedModel& model, const std::vector<SymbolPair>& pairs,
                                               const MatricesRequest& request, Workers& workers);

// The most symbols of a side, so that all weights of a pair take 1 GB at most (see longest_aligned).
int longest_shown(const LoadedModel& model, Workers& workers);

}  // namespace jumok
