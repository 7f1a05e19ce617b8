// The encoder-decoder Transformer (Vaswani et al. 2017), post-norm as in the paper or pre-norm as today.
#pragma once

#include <vector>

#include "models/encoder_decoder.h"
#include "models/transformer_stack.h"

namespace jumok {

class Transformer : public EncoderDecoder {
 public:
  explicit Transformer(const ModelConfig& config);

  const ModelConfig& config() const override { return config_; }
  const ParameterLayout& layout() const override { return layout_; }
  std::vector<std::string> source_attentions() const override;
  std::unique_ptr<Stepper> start(const float* parameters, const PackedRows& source) const override;

  // The encoder's output, the memory: [Ns, D].
  Variable encode(Context& context, const TransformerRows& source, AttentionMaps* maps) const;
  // K and V of the memory for every decoder layer: 2·L variables [Ns, D], K_0, V_0, K_1, V_1, … from one product.
  std::vector<Variable> project_memory(Context& context, const Variable& memory) const { return memory_projection_(context, memory); }
  // Whole targets at once: hidden states [Nt, D] in front of the output layer.
  Variable decode(Context& context, const std::vector<Variable>& memory, const PackedRows& source, const TransformerRows& target,
                  AttentionMaps* maps) const;

  // The parts that `step` shares with `decode`.
  const SymbolEmbedding& target_symbols() const { return target_symbols_; }
  const TransformerStack& decoder() const { return decoder_; }
  const Parameter& output_weight() const override { return output_weight_; }

 private:
  void make_symbols();
  Variable hidden(Context& context, const PairBatch& batch) const override;

  ModelConfig config_;
  ParameterLayout layout_;
  SymbolEmbedding source_symbols_, target_symbols_;
  Parameter output_weight_;  // [V, D]
  TransformerStack encoder_, decoder_;
  MemoryProjection memory_projection_;
};

}  // namespace jumok
