#include "models/transformer.h"

#include <algorithm>

#include "base/error.h"
#include "models/embeddings.h"

namespace jumok {
namespace {

// Recorded behind the encoder, so that it runs back when the gradient of its output is complete.
void keep_gradient(Context& context, const Variable& memory, const Tensor& to) {
  check(to.rows == memory.value.rows && to.columns == memory.value.columns,
        "encoder: expected a place [{}, {}] for the gradient of its output, found [{}, {}]", memory.value.rows, memory.value.columns,
        to.rows, to.columns);
  context.tape->record([memory, to] {
    for (int64_t r = 0; r < to.rows; ++r) {
      if (memory.gradient->written)
        std::copy_n(memory.gradient->tensor.row(r), to.columns, to.row(r));
      else
        std::fill_n(to.row(r), to.columns, 0.0f);
    }
  });
}

}  // namespace

Transformer::Transformer(const ModelConfig& config) : config_(config) {
  config_.validate();
  make_symbols();
  encoder_ = TransformerStack::make(layout_, config_, "encoder", config_.encoder_layers, false);
  decoder_ = TransformerStack::make(layout_, config_, "decoder", config_.decoder_layers, true);
  std::vector<CrossAttention> cross;
  for (const TransformerLayer& l : decoder_.layers) cross.push_back(*l.cross_attention);
  memory_projection_ = MemoryProjection(layout_, cross, head_options(config_, true));
}

void Transformer::make_symbols() {
  const Embeddings e = make_embeddings(layout_, config_);
  source_symbols_.table = e.source;
  target_symbols_.table = e.target;
  output_weight_ = e.output;
  if (config_.positions == Positions::kLearned) {
    source_symbols_.positions = layout_.matrix("encoder.positions.weight", config_.max_positions, config_.width, Initial::kEmbedding);
    target_symbols_.positions = layout_.matrix("decoder.positions.weight", config_.max_positions, config_.width, Initial::kEmbedding);
  }
  source_symbols_.sinusoids = target_symbols_.sinusoids = position_table(config_);
}

std::vector<std::string> Transformer::source_attentions() const {
  std::vector<std::string> names;
  for (const TransformerLayer& l : decoder_.layers) names.push_back(l.cross_attention->heads.name);
  return names;
}

Variable Transformer::encode(Context& context, const TransformerRows& source, AttentionMaps* maps) const {
  const AttentionCall call = source.self_attention(false, maps);
  Stream x = encoder_.begin(context, source_symbols_(context, source));
  for (size_t l = 0; l < encoder_.layers.size(); ++l) {
    x = encoder_.self_attention(context, l, x, call, source.dropout);
    x = encoder_.feed_forward(context, l, x, source.dropout);
  }
  return x.normed;
}

Variable Transformer::decode(Context& context, const std::vector<Variable>& memory, const PackedRows& source, const TransformerRows& target,
                             AttentionMaps* maps) const {
  const PackedRows& r = target.rows;
  const AttentionCall self = target.self_attention(true, maps);
  const AttentionCall cross{{r.begin, r.length, source.begin, source.length}, false, target.attention_dropout, maps};
  Stream x = decoder_.begin(context, target_symbols_(context, target));
  for (size_t l = 0; l < decoder_.layers.size(); ++l) {
    x = decoder_.self_attention(context, l, x, self, target.dropout);
    x = decoder_.cross_attention(context, l, x, memory[2 * l], memory[2 * l + 1], cross, target.dropout);
    x = decoder_.feed_forward(context, l, x, target.dropout);
  }
  return x.normed;
}

Variable Transformer::hidden(Context& context, const PairBatch& batch) const {
  const DropoutRates rates{batch.dropout, batch.attention_dropout};
  const Variable memory = encode(context, transformer_rows(batch.source, batch.source_keys, rates), batch.maps);
  if (batch.encoder_gradient && context.tape != nullptr) keep_gradient(context, memory, batch.encoder_gradient);
  return decode(context, project_memory(context, memory), batch.source, transformer_rows(batch.target.input, batch.target_keys, rates),
                batch.maps);
}

}  // namespace jumok
