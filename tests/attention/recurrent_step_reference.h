// One step of a recurrent decoder with its attention, in float64, one number at a time, with its backward worked out by hand: what the
// fused f32 path is compared with.
//   h = cell(x, h0, c0)        c = attention(h, m_1 … m_S)        loss = a·c + b·h + d·c_cell
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attention/mechanism.h"
#include "kernels/recurrent_cell.h"

namespace jumok::reference {

// A matrix inside the one vector of all numbers.
struct MatrixPlace {
  int64_t offset = 0, rows = 0, columns = 0, stride = 0;
};

struct StepShape {
  Score score = Score::kAdditive;
  Window window = Window::kGlobal;
  kernels::Cell cell = kernels::Cell::kTanh;
  int64_t width = 0, keys = 0;                // D of h, S
  int heads = 1, half_width = 2;              // of multi-head; D of the local windows
  int64_t position = 0;                       // t, which local-m is centred on
  std::map<std::string, MatrixPlace> places;  // parameters by their names in a model file; "x", "h0", "c0" [1, ·], "memory" [S, ·]
  std::vector<double> of_c, of_h, of_cell;    // a, b, d
};

using Vector = std::vector<double>;

double step_loss(const StepShape& shape, const Vector& numbers);
// d loss / d numbers.
Vector step_gradient(const StepShape& shape, const Vector& numbers);

}  // namespace jumok::reference
