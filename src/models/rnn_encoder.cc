#include "models/rnn_encoder.h"

#include "autograd/rows.h"
#include "base/error.h"

namespace jumok {

RnnEncoder::RnnEncoder(ParameterLayout& layout, const ModelConfig& config) {
  const RnnConfig& r = config.rnn;
  width_ = encoder_width(config);
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

RnnEncoded RnnEncoder::operator()(Context& context, Variable x, const RnnSource& source) const {
  check(!source.state_gradient || source.state_gradient.columns == width_,
        "encoder: expected a place of {} columns for the gradient of its states, found {}", width_, source.state_gradient.columns);
  RnnEncoded out;
  // `direction` 0: forward, 1: backward, whose states stand behind each other in a row.
  const auto input = [&](const Recurrent& layer, const Variable& rows, int64_t direction, bool is_last) {
    RecurrentInput in = layer.over(layer.input(context, rows));
    in.begin = source.begin;
    in.length = source.length;
    if (is_last && source.state_gradient) in.state_gradient = source.state_gradient.column_slice(direction * layer.width(), layer.width());
    return in;
  };
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Variable below = x;
    const bool is_last = l + 1 == layers_.size();
    RecurrentInput forward = input(layers_[l].forward, x, 0, is_last);
    if (bidirectional_) {
      const BidirectionalOutput both = bidirectional(context, forward, input(layers_[l].backward, x, 1, is_last));
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
    x = drop(context, x, context.next_dropout(source.dropout.row_keys, source.dropout.rate));
  }
  out.states = x;
  return out;
}

}  // namespace jumok
