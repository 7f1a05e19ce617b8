// Embeddings of a translation model, tied as it says (Press & Wolf 2017; Vaswani 2017 §3.4).
#pragma once

#include "models/config.h"
#include "nn/parameters.h"

namespace jumok {

struct Embeddings {
  Parameter source, target, output;  // [V, D] each; equal where they are tied
};
Embeddings make_embeddings(ParameterLayout& layout, const ModelConfig& config);

}  // namespace jumok
