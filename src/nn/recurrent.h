// A recurrent layer's parameters: h_t = cell(x_t W_xᵀ + b_x, h_{t-1} W_hᵀ + b_h).
#pragma once

#include <string>

#include "autograd/recurrent.h"
#include "nn/linear.h"

namespace jumok {

// In a model file each gate keeps its own name: NAME.input.r.weight [D, in], NAME.input.r.bias [D], NAME.state.r.weight [D, D] and so on
// for r, z, n (GRU), i, f, g, o (LSTM), h (tanh). The recurrent half has a bias, NAME.state.r.bias, only in a GRU whose reset stands after
// the product; elsewhere it would be the input half's bias twice. The forget gate's bias starts at 1 (Gers 2000; Jozefowicz 2015).
struct Recurrent {
  kernels::Cell cell = kernels::Cell::kGru;
  bool reset_after = true;
  Linear input;  // in → G·D
  Linear state;  // D → G·D

  static Recurrent make(ParameterLayout& layout, const std::string& name, kernels::Cell cell, int64_t in, int64_t width,
                        bool reset_after = true);
  int64_t width() const { return state.weight.columns; }

  // What `recurrent` wants to know of the layer; the caller adds x, the sentences and what else differs.
  RecurrentInput over(const Variable& x) const {
    RecurrentInput in;
    in.x = x;
    in.weight = state.weight;
    in.bias = state.bias;
    in.cell = cell;
    in.reset_after = reset_after;
    return in;
  }
  // For a loop of one step a call, made before it.
  RecurrentWeightSum weight_sum(Context& context) const { return {context, state.weight, state.bias, cell, reset_after}; }
};

}  // namespace jumok
