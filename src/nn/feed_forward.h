// Position-wise feed-forward network (Vaswani 2017 §3.3, eq. 2): FFN(x) = max(0, x W1 + b1) W2 + b2.
#pragma once

#include "nn/linear.h"

namespace jumok {

struct FeedForward {
  Linear inner, outer;  // D → F, F → D

  static FeedForward make(ParameterLayout& layout, const std::string& name, int64_t width, int64_t inner_width) {
    FeedForward f;
    f.inner = Linear::make(layout, name + ".inner", width, inner_width);
    f.outer = Linear::make(layout, name + ".outer", inner_width, width);
    return f;
  }
  Variable operator()(Context& context, const Variable& x) const {  // [N, D] → [N, D]
    return outer(context, inner(context, x, kernels::Activation::kRelu));
  }
};

}  // namespace jumok
