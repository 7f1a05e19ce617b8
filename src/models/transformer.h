// The encoder-decoder Transformer (Vaswani et al. 2017), post-norm as in the paper or pre-norm as today.
#pragma once

#include <optional>
#include <vector>

#include "models/encoder_decoder.h"
#include "nn/feed_forward.h"

namespace jumok {

// A decoder layer has cross-attention, an encoder layer has none (§3.1).
struct TransformerLayer {
  SelfAttention self_attention;
  LayerNorm self_attention_norm;
  std::optional<CrossAttention> cross_attention;
  LayerNorm cross_attention_norm;  // used only with cross-attention
  FeedForward feed_forward;
  LayerNorm feed_forward_norm;
};

// A stack of layers and, when pre-norm, the norm after the last.
struct TransformerStack {
  std::vector<TransformerLayer> layers;
  LayerNorm final_norm;
  bool pre_norm = true;

  const LayerNorm& first_norm() const { return layers.front().self_attention_norm; }
  // The norm that follows a sublayer: its own (post-norm), or the one in front of the next sublayer (pre-norm).
  const LayerNorm& after_self_attention(size_t layer) const;
  const LayerNorm& after_cross_attention(size_t layer) const;
  const LayerNorm& after_feed_forward(size_t layer) const;
};

// Rows of one side of a batch with the dropout that applies to them.
struct TransformerRows {
  const PackedRows& rows;
  RowDropout dropout;  // of embeddings and sublayer outputs
  RowDropout attention_dropout;
};

class Transformer : public EncoderDecoder {
 public:
  explicit Transformer(const ModelConfig& config);

  const ModelConfig& config() const override { return config_; }
  const ParameterLayout& layout() const override { return layout_; }
  std::vector<std::string> source_attentions() const override;
  OutputLoss loss(Context& context, const PairBatch& batch) const override;
  void nll(Context& context, const PairBatch& batch, float* nll) const override;
  std::unique_ptr<Stepper> start(const float* parameters, const PackedRows& source) const override;

  // The encoder's output, the memory: [Ns, D].
  Variable encode(Context& context, const TransformerRows& source, AttentionMaps* maps) const;
  // K and V of the memory for every decoder layer: 2·L variables [Ns, D], K_0, V_0, K_1, V_1, … from one product.
  std::vector<Variable> project_memory(Context& context, const Variable& memory) const { return memory_projection_(context, memory); }
  // Whole targets at once: hidden states [Nt, D] in front of the output layer.
  Variable decode(Context& context, const std::vector<Variable>& memory, const PackedRows& source, const TransformerRows& target,
                  AttentionMaps* maps) const;

  // The parts that `step` shares with `decode`.
  Stream embed(Context& context, const Parameter& table, const TransformerRows& rows, const TransformerStack& stack) const;
  Stream cross_and_feed_forward(Context& context, size_t layer, Stream x, const Variable& k, const Variable& v, const AttentionCall& cross,
                                const RowDropout& dropout) const;
  const TransformerStack& decoder() const { return decoder_; }
  const Parameter& target_embedding() const { return target_embedding_; }
  const Parameter& output_weight() const { return output_weight_; }

 private:
  TransformerStack make_stack(const std::string& name, int layers, bool with_cross_attention);
  void make_embeddings();
  Variable hidden(Context& context, const PairBatch& batch) const;

  ModelConfig config_;
  ParameterLayout layout_;
  Parameter source_embedding_, target_embedding_, output_weight_;  // [V, D] each
  Parameter source_positions_, target_positions_;                  // [P, D] when learned
  std::vector<float> sinusoids_;                                   // [P, D] when fixed
  TransformerStack encoder_, decoder_;
  MemoryProjection memory_projection_;
};

}  // namespace jumok
