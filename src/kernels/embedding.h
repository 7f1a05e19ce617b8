// Rows of an embedding table, scaled, plus positions (Vaswani 2017 §3.4, §3.5).
#pragma once

#include "kernels/dropout.h"
#include "kernels/rows.h"

namespace jumok::kernels {

//   y_n = dropout(scale * table[ids_n] + positions[position_n])
// table [V, D]; positions [P, D] or data null (no positions); ids, position [N], in range (the caller checks).
struct Embedding {
  ConstRows table, positions;
  const int32_t* ids = nullptr;
  const int32_t* position = nullptr;
  float scale = 1.0f;
  Dropout dropout;
};
void embedding_forward(const Embedding& in, Rows y);
// dtable[ids_n] += scale * dropout(dy_n); dpositions[position_n] += dropout(dy_n). Rows in rising order; either may have data null.
void embedding_backward(const Embedding& in, ConstRows dy, Rows dtable, Rows dpositions);

// Sinusoidal positions, interleaved as printed (§3.5): out[p, 2i] = sin(p / 10000^(2i/D)), out[p, 2i+1] = cos(same). out [P, D].
void sinusoidal_positions(Rows out);

}  // namespace jumok::kernels
