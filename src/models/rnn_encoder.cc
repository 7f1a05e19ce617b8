#include "models/rnn_encoder.h"

#include "autograd/rows.h"

namespace jumok {

RnnEncoder::RnnEncoder(ParameterLayout& layout, const ModelConfig& config) {
  const RnnConfig& r = config.rnn;
  width_ = r.encoder_width > 0 ? r.encoder_width : config.width;
  bidirectional_ = r.bidirectional;
  reversed_ = r.reversed;
  residual_ = r.residual;
  for (int l = 0; l < config.encoder_layers; ++l) {
    const std::string name = "encoder.layers." + std::to_string(l);
    const int64_t in = l == 0 ? config.width : width_;
    Layer layer;
    layer.forward = Recurrent::make(layout, name + ".forward", r.cell, in, summary_width(), r.reset_after);
    if (bidirectional_) layer.backward = Recurrent::make(layout, name + ".backward", r.cell, in, summary_width(), r.reset_after);
    layers_.push_back(layer);
  }
}

RnnEncoded RnnEncoder::operator()(Context& context, Variable x, std::span<const int32_t> begin, std::span<const int32_t> length,
                                  const RowDropout& dropout) const {
  RnnEncoded out;
  const auto input = [&](const Recurrent& layer, const Variable& rows) {
    RecurrentInput in = layer.over(layer.input(context, rows));
    in.begin = begin;
    in.length = length;
    return in;
  };
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Variable below = x;
    RecurrentInput forward = input(layers_[l].forward, x);
    if (bidirectional_) {
      const BidirectionalOutput both = bidirectional(context, forward, input(layers_[l].backward, x));
      x = both.h;
      out.last_h.push_back(concat_columns(context, {both.forward.last_h, both.backward.last_h}));
      if (both.forward.last_c.value) out.last_c.push_back(concat_columns(context, {both.forward.last_c, both.backward.last_c}));
      out.summary = both.backward.last_h;
    } else {
      forward.reversed = reversed_;
      const RecurrentOutput one = recurrent(context, forward);
      x = one.h;
      out.last_h.push_back(one.last_h);
      if (one.last_c.value) out.last_c.push_back(one.last_c);
      out.summary = one.last_h;
    }
    if (residual_ && l > 0) x = sum(context, x, below);
    x = drop(context, x, context.next_dropout(dropout.row_keys, dropout.rate));
  }
  out.states = x;
  return out;
}

}  // namespace jumok
