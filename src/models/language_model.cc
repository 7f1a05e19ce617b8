#include "models/language_model.h"

namespace jumok {

LanguageModel::LanguageModel(const ModelConfig& config) : config_(config) {
  config_.validate();
  const int vocabulary = config_.target_vocabulary, width = config_.width;
  symbols_.table = layout_.matrix("embedding.weight", vocabulary, width, Initial::kEmbedding);
  const bool tied = config_.tying != Tying::kNone;
  output_weight_ = tied ? symbols_.table : layout_.matrix("output.weight", vocabulary, width, Initial::kEmbedding);
  if (config_.positions == Positions::kLearned)
    symbols_.positions = layout_.matrix("decoder.positions.weight", config_.max_positions, width, Initial::kEmbedding);
  symbols_.sinusoids = position_table(config_);
  decoder_ = TransformerStack::make(layout_, config_, "decoder", config_.decoder_layers, false);
}

Variable LanguageModel::decode(Context& context, const TransformerRows& text, AttentionMaps* maps) const {
  const AttentionCall call = text.self_attention(true, maps);
  Stream x = decoder_.begin(context, symbols_(context, text));
  for (size_t l = 0; l < decoder_.layers.size(); ++l) {
    x = decoder_.self_attention(context, l, x, call, text.dropout);
    x = decoder_.feed_forward(context, l, x, text.dropout);
  }
  return x.normed;
}

Variable LanguageModel::hidden(Context& context, const PairBatch& batch) const {
  return decode(context, transformer_rows(batch.target.input, batch.target_keys, {batch.dropout, batch.attention_dropout}), batch.maps);
}

}  // namespace jumok
