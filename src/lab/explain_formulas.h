// The formulas of one attention of a model, as lab explain prints them.
#pragma once

#include <string>
#include <vector>

#include "attention/attention_maps.h"
#include "models/config.h"

namespace jumok {

// From the states to the context, a line each: projections, score, centre of local-p, weight, mix, output, readout. x_i and y_j are the
// rows that ask and answer in a Transformer (both x in self-attention); s_{t−1}, h_t the decoder's state, h_j the encoder's in a recurrent
// model.
std::vector<std::string> formulas_of(const ModelConfig& config, const std::string& attention, const AttentionParts& parts, int heads);

// What stands in front of the numbers after W_O, and of those that a recurrent model's output layer reads; empty where there are none.
std::string output_name(const ModelConfig& config, const AttentionParts& parts);
std::string readout_name(const ModelConfig& config);

// Which of the keys the query of `row` may attend to, in words.
std::string allowed_keys(const AttentionParts& parts, int64_t row, int64_t keys);

}  // namespace jumok
