// The plain scalar twin of kernels/recurrent_cell.h, in f64 between its f32 inputs and outputs.
#pragma once

#include "kernels/recurrent_cell.h"

namespace jumok::kernels::ref {

void cell_forward(const CellStep& step);
void cell_reset(const CellStep& step);
void cell_backward(const CellStep& step, const CellGradient& gradient);
void cell_reset_backward(const CellStep& step, const CellGradient& gradient);

}  // namespace jumok::kernels::ref
