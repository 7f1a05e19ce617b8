// The decoder-only Transformer: P(y) = Π P(y_t | y_<t), a decoder without a source (Liu et al. 2018 §4.2.3; Radford et al. 2018 §3.1).
#pragma once

#include <vector>

#include "models/encoder_decoder.h"
#include "models/transformer_stack.h"

namespace jumok {

// An EncoderDecoder whose sources are never read: texts are the targets of a batch. What trains, scores and searches translation models
// serves it as it is.
class LanguageModel : public EncoderDecoder {
 public:
  explicit LanguageModel(const ModelConfig& config);

  const ModelConfig& config() const override { return config_; }
  const ParameterLayout& layout() const override { return layout_; }
  std::vector<std::string> source_attentions() const override { return {}; }
  // One text a sentence of `source`.
  std::unique_ptr<Stepper> start(const float* parameters, const PackedRows& source) const override;

  // Whole texts at once: hidden states [N, D] in front of the output layer.
  Variable decode(Context& context, const TransformerRows& text, AttentionMaps* maps) const;

  // The parts that `step` shares with `decode`.
  const SymbolEmbedding& symbols() const { return symbols_; }
  const TransformerStack& decoder() const { return decoder_; }
  const Parameter& output_weight() const override { return output_weight_; }

 private:
  Variable hidden(Context& context, const PairBatch& batch) const override;

  ModelConfig config_;
  ParameterLayout layout_;
  SymbolEmbedding symbols_;
  Parameter output_weight_;  // [V, D]
  TransformerStack decoder_;
};

}  // namespace jumok
