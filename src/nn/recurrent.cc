#include "nn/recurrent.h"

#include <string_view>
#include <vector>

namespace jumok {
using kernels::Cell;
namespace {

std::string_view gate_names(Cell cell) { return cell == Cell::kTanh ? "h" : cell == Cell::kGru ? "rzn" : "ifgo"; }

}  // namespace

Recurrent Recurrent::make(ParameterLayout& layout, const std::string& name, Cell cell, int64_t in, int64_t width, bool reset_after) {
  Recurrent r{cell, reset_after, {}, {}};
  const auto half = [&](const std::string& half_name, int64_t columns, bool has_bias) {
    std::vector<Parameter> weights, biases;
    for (const char gate : gate_names(cell)) weights.push_back(layout.matrix(name + half_name + gate + ".weight", width, columns));
    for (const char gate : gate_names(cell)) {
      const bool is_forget = cell == Cell::kLstm && gate == 'f';
      if (has_bias) biases.push_back(layout.vector(name + half_name + gate + ".bias", width, is_forget ? Initial::kOne : Initial::kZero));
    }
    return Linear{fuse(weights), has_bias ? fuse_vectors(biases) : Parameter()};
  };
  r.input = half(".input.", in, true);
  r.state = half(".state.", width, cell == Cell::kGru && reset_after);
  return r;
}

}  // namespace jumok
