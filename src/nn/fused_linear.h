// Several layers that share their input, as one product: QKV; K and V of the source for all decoder layers.
#pragma once

#include <string>
#include <vector>

#include "nn/linear.h"

namespace jumok {

// Registers the layers `names`, each in → out, so that their weights and their biases lie adjacent, and gives them as one Linear in →
// n·out. In a model file each layer keeps its own name.
inline Linear make_fused(ParameterLayout& layout, const std::vector<std::string>& names, int64_t in, int64_t out) {
  std::vector<Parameter> weights, biases;
  for (const std::string& name : names) weights.push_back(layout.matrix(name + ".weight", out, in));
  for (const std::string& name : names) biases.push_back(layout.vector(name + ".bias", out));
  return {fuse(weights), fuse_vectors(biases)};
}

}  // namespace jumok
