// Scaled rows of an embedding table plus positions (Vaswani 2017 §3.4, §3.5).
#pragma once

#include <span>

#include "autograd/context.h"

namespace jumok {

// y_n = dropout(scale · table[ids_n] + positions[position_n]), [N, D].
struct EmbeddingInput {
  Parameter table;                         // [V, D]
  Parameter learned_positions;             // [P, D], or absent
  Tensor fixed_positions;                  // [P, D] (sinusoids), or absent
  std::span<const int32_t> ids, position;  // [N], in [0, V) and [0, P): checked
  float scale = 1;
  kernels::Dropout dropout;
};
Variable embedding(Context& context, const EmbeddingInput& in);

}  // namespace jumok
