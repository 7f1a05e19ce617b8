// Layer norm with its residual and dropout, and the stream of a residual network (Ba 2016; Vaswani 2017 §3.1).
#pragma once

#include "autograd/add_norm.h"
#include "nn/parameters.h"

namespace jumok {

struct LayerNorm {
  Parameter gamma, beta;  // [1, D]

  static LayerNorm make(ParameterLayout& layout, const std::string& name, int64_t width) {
    return {layout.vector(name + ".weight", width, Initial::kOne), layout.vector(name + ".bias", width, Initial::kZero)};
  }
};

// What runs through a stack of sublayers: the residual, and what the next sublayer reads. Post-norm: both are the normed sum.
struct Stream {
  Variable residual, normed;  // [N, D] each
};

// Dropout of the rows of one side of the batch: rate and one key a row (null in inference).
struct RowDropout {
  float rate = 0;
  const uint32_t* row_keys = nullptr;
};

// stream + sublayer output f, normed by `norm`:
//   post-norm  x ← LN(x + dropout(f))        both members
//   pre-norm   x ← x + dropout(f),  normed = LN(x)
inline Stream add_norm(Context& context, const Stream& stream, const Variable& f, const LayerNorm& norm, bool pre_norm,
                       const RowDropout& dropout) {
  const AddNormResult out =
      jumok::add_norm(context, {stream.residual, f, norm.gamma, norm.beta, context.next_dropout(dropout.row_keys, dropout.rate)});
  return {pre_norm ? out.sum : out.normed, out.normed};
}

}  // namespace jumok
