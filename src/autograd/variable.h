// What the ops take and give: a value and, while a tape records, the place of its gradient.
#pragma once

#include "tensor/arena.h"
#include "tensor/tensor.h"

namespace jumok {

// The gradient of one value. Its memory comes when the first op writes to it; later ones add. Lives in the arena of the micro-batch.
struct Gradient {
  Tensor tensor;
  bool written = false;
};

struct Variable {
  Tensor value;                  // [rows, columns]
  Gradient* gradient = nullptr;  // null: nobody will ask for it (inference, or a constant)
};

// Where an op's backward puts a gradient: over what is there, or added to it.
struct GradientSink {
  Tensor tensor;
  bool accumulate = false;
};

// The sink for the gradient of `v`, [v.rows, v.columns]; marks it written. v.gradient must not be null.
inline GradientSink sink(Arena& arena, const Variable& v) {
  Gradient& g = *v.gradient;
  if (!g.tensor) g.tensor = arena.tensor(v.value.rows, v.value.columns);
  const bool accumulate = g.written;
  g.written = true;
  return {g.tensor, accumulate};
}

}  // namespace jumok
