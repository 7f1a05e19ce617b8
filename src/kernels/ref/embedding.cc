#include "kernels/ref/embedding.h"

#include "kernels/ref/elementwise.h"

namespace jumok::kernels::ref {

void embedding_forward(const Embedding& in, Rows y) {
  for (int64_t n = 0; n < y.rows; ++n) {
    for (int64_t c = 0; c < y.columns; ++c) {
      const double position = in.positions.data ? in.positions.row(in.position[n])[c] : 0.0;
      const double sum = static_cast<double>(in.scale) * in.table.row(in.ids[n])[c] + position;
      y.row(n)[c] = static_cast<float>(sum * dropout_factor(in.dropout, n, c));
    }
  }
}

void embedding_backward(const Embedding& in, ConstRows dy, Rows dtable, Rows dpositions) {
  for (int64_t n = 0; n < dy.rows; ++n) {
    for (int64_t c = 0; c < dy.columns; ++c) {
      const double g = dy.row(n)[c] * dropout_factor(in.dropout, n, c);
      if (dtable.data) dtable.row(in.ids[n])[c] += static_cast<float>(in.scale * g);
      if (dpositions.data) dpositions.row(in.position[n])[c] += static_cast<float>(g);
    }
  }
}

}  // namespace jumok::kernels::ref
