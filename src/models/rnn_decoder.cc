#include "models/rnn_decoder.h"

#include "autograd/maxout.h"
#include "autograd/rows.h"

namespace jumok {
namespace {

RecurrentAttentionOptions attention_options(const ModelConfig& config) {
  const RnnConfig& r = config.rnn;
  RecurrentAttentionOptions o;
  o.score = r.score;
  o.window = r.window;
  o.half_width = r.half_width;
  o.heads = config.heads;
  o.query_width = config.width;
  o.memory_width = encoder_width(config);
  o.inner_width = r.inner_width > 0 ? r.inner_width : config.width;
  o.positions = r.location_positions;
  return o;
}

}  // namespace

RnnDecoder::RnnDecoder(ParameterLayout& layout, const ModelConfig& config, const RnnEncoder& encoder)
    : has_attention_(has_attention(config.rnn.score)),
      every_step_(config.rnn.score == Score::kNoneEveryStep),
      input_feeding_(config.rnn.input_feeding),
      residual_(config.rnn.residual),
      place_(config.rnn.place),
      readout_kind_(config.rnn.readout),
      width_(config.width) {
  make_first_state(layout, config, encoder);
  for (int l = 0; l < config.decoder_layers; ++l) {
    layers_.push_back(
        Recurrent::make(layout, "decoder.layers." + std::to_string(l), config.rnn.cell, width_, width_, config.rnn.reset_after));
  }
  const int64_t gates = layers_.front().input.weight.rows;
  if (has_attention_) attention_ = RecurrentAttention::make(layout, "decoder.attention", attention_options(config));
  if (every_step_) fixed_ = Linear::without_bias(layout, "decoder.context", width_, gates);
  if (has_attention_ && place_ == Place::kInside) context_ = Linear::without_bias(layout, "decoder.context", context_width(), gates);
  if (input_feeding_) feed_ = Linear::without_bias(layout, "decoder.feed", width_, gates);
  make_readout(layout, config);
}

void RnnDecoder::make_first_state(ParameterLayout& layout, const ModelConfig& config, const RnnEncoder& encoder) {
  if (every_step_) summary_ = Linear::make(layout, "decoder.summary", encoder.summary_width(), width_);
  if (config.rnn.first_state == FirstState::kCopy) return;
  const int64_t in = every_step_ ? width_ : encoder.summary_width();
  for (int l = 0; l < config.decoder_layers; ++l) {
    const std::string name = "decoder.first_state." + std::to_string(l);
    first_h_.push_back(Linear::make(layout, name + ".h", in, width_));
    if (config.rnn.cell == kernels::Cell::kLstm) first_c_.push_back(Linear::make(layout, name + ".c", in, width_));
  }
}

int64_t RnnDecoder::context_width() const {
  if (has_attention_) return attention_.context_width();
  return every_step_ ? width_ : 0;
}

void RnnDecoder::make_readout(ParameterLayout& layout, const ModelConfig& config) {
  if (config.rnn.readout == Readout::kPlain) return;
  const int64_t embedded = config.rnn.readout == Readout::kTanh ? 0 : width_;
  const int64_t pairs = config.rnn.readout == Readout::kMaxout ? 2 : 1;
  readout_ = Linear::make(layout, "decoder.readout", width_ + embedded + context_width(), pairs * width_);
}

RnnPass RnnDecoder::start(Context& context, const RnnEncoded& source) const {
  RnnPass pass;
  if (has_attention_) pass.memory = attention_.prepare(context, source.states);
  if (every_step_) pass.fixed = summary_(context, source.summary, kernels::Activation::kTanh);
  for (const Recurrent& layer : layers_) {
    pass.layers.push_back(layer.weight_sum(context));
    pass.inputs.emplace_back(context, layer.input.weight, layer.input.bias);
  }
  pass.context = {context, context_.weight, {}};
  pass.feed = {context, feed_.weight, {}};
  pass.readout = {context, readout_.weight, readout_.bias};
  return pass;
}

RnnState RnnDecoder::first_state(Context& context, const RnnEncoded& source, const RnnPass& pass) const {
  RnnState state;
  if (first_h_.empty()) {
    state.h = source.last_h;
    state.c = source.last_c;
  }
  const Variable& from = every_step_ ? pass.fixed : source.summary;
  for (const Linear& l : first_h_) state.h.push_back(l(context, from, kernels::Activation::kTanh));
  for (const Linear& l : first_c_) state.c.push_back(l(context, from, kernels::Activation::kTanh));
  if (input_feeding_) {
    state.fed = context.result(source.summary.value.rows, width_);
    kernels::clear(state.fed.value);
  }
  return state;
}

Variable RnnDecoder::input_gates(Context& context, const Variable& e, const RnnPass& pass, std::span<const int32_t> sentence) const {
  const Variable gates = linear(context, e, pass.inputs.front());
  if (!every_step_) return gates;
  return sum(context, gates, gather_rows(context, fixed_(context, pass.fixed), sentence));
}

RnnDecoder::Output RnnDecoder::run(Context& context, Variable gates, RnnState& state, const RnnPass& pass, const RnnRows& rows) const {
  Output out;
  if (has_attention_ && place_ == Place::kInside) {
    out.c = attention_(context, state.h.front(), pass.memory, rows.attention);
    gates = sum(context, gates, linear(context, out.c, pass.context));
  }
  if (input_feeding_) gates = sum(context, gates, linear(context, state.fed, pass.feed));
  for (size_t l = 0; l < layers_.size(); ++l) {
    if (l > 0) {
      const Variable below = drop(context, out.h, context.next_dropout(rows.dropout.row_keys, rows.dropout.rate));
      gates = linear(context, below, pass.inputs[l]);
    }
    RecurrentInput in = layers_[l].over(gates);
    in.initial_h = state.h[l];
    if (!state.c.empty()) in.initial_c = state.c[l];
    in.begin = rows.begin;
    in.length = rows.length;
    in.sum = &pass.layers[l];
    const RecurrentOutput step = recurrent(context, in);
    state.h[l] = step.last_h;
    if (!state.c.empty()) state.c[l] = step.last_c;
    out.h = residual_ && l > 0 ? sum(context, step.h, out.h) : step.h;
  }
  if (every_step_) out.c = gather_rows(context, pass.fixed, rows.sentence);
  if (has_attention_ && place_ == Place::kAfter) out.c = attention_(context, out.h, pass.memory, rows.attention);
  return out;
}

Variable RnnDecoder::readout(Context& context, const Variable& e, const Output& output, const RnnPass& pass,
                             const RowDropout& dropout) const {
  Variable y = output.h;
  if (readout_kind_ != Readout::kPlain) {
    std::vector<Variable> parts = {output.h};
    if (readout_kind_ != Readout::kTanh) parts.push_back(e);
    if (output.c.value) parts.push_back(output.c);
    const bool is_tanh = readout_kind_ == Readout::kTanh;
    y = linear(context, concat_columns(context, parts), pass.readout, is_tanh ? kernels::Activation::kTanh : kernels::Activation::kNone);
    if (readout_kind_ == Readout::kMaxout) y = maxout(context, y);
  }
  return drop(context, y, context.next_dropout(dropout.row_keys, dropout.rate));
}

}  // namespace jumok
