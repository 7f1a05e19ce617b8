// A learned product: y = f(x Wᵀ + b).
#pragma once

#include "autograd/linear.h"
#include "nn/parameters.h"

namespace jumok {

struct Linear {
  Parameter weight;  // [out, in]
  Parameter bias;    // [1, out], or absent

  static Linear make(ParameterLayout& layout, const std::string& name, int64_t in, int64_t out) {
    Linear l;
    l.weight = layout.matrix(name + ".weight", out, in);
    l.bias = layout.vector(name + ".bias", out);
    return l;
  }
  // y = x Wᵀ.
  static Linear without_bias(ParameterLayout& layout, const std::string& name, int64_t in, int64_t out) {
    Linear l;
    l.weight = layout.matrix(name + ".weight", out, in);
    return l;
  }
  bool exists() const { return weight.exists(); }
  // x [N, in] → [N, out]
  Variable operator()(Context& context, const Variable& x, kernels::Activation activation = kernels::Activation::kNone) const {
    return linear(context, x, weight, bias, activation);
  }
};

}  // namespace jumok
