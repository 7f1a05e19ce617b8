// What the weights of a trained model's attentions look like: how sharp they are, and how unlike the heads of a layer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lab/experiment.h"
#include "lab/tasks.h"

namespace jumok {

// Of one kind of attention, means over layers, heads, sentences and queries.
struct HeadShape {
  double entropy = 0;     // bits of a query's weights over the keys
  double possible = 0;    // bits that uniform weights would have: log2 of the number of keys allowed
  double largest = 0;     // the largest weight of a query
  double divergence = 0;  // Jensen-Shannon, bits (0: alike, 1: nothing in common), between the heads of a layer, mean over pairs; 0 for one
                          // head
};

// Weights [T, S] of the heads of one attention on one sentence, row-major; adds to sums over their T queries.
struct HeadSums {
  double entropy = 0, possible = 0, largest = 0, divergence = 0;
  int64_t rows = 0, pair_rows = 0;  // queries × heads; queries × pairs of heads
  void add(const std::vector<std::vector<float>>& heads, int64_t keys);
  HeadShape mean() const;
};

struct HeadShapes {
  HeadShape encoder, decoder, source;  // self-attention of either side, attention over the source
};
// On the first test lines, by forced decoding of their references.
HeadShapes head_shapes(const std::filesystem::path& model, const LabText& text, const LabRun& run);

nlohmann::ordered_json to_json(const HeadShape& shape);

}  // namespace jumok
