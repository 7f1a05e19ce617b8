// What the Transformers have in common: symbols as rows with positions, and the stack of layers (Vaswani et al. 2017, §3).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/kv_cache.h"
#include "attention/multi_head.h"
#include "data/packed.h"
#include "models/config.h"
#include "nn/feed_forward.h"
#include "nn/positions.h"

namespace jumok {

// Rows of one side of a batch with the dropout that applies to them.
struct TransformerRows {
  const PackedRows& rows;
  RowDropout dropout;  // of embeddings and sublayer outputs
  RowDropout attention_dropout;

  // Every row sees its whole sentence, or what stands before it in it and itself.
  AttentionCall self_attention(bool causal, AttentionMaps* maps) const {
    return {{rows.begin, rows.length, rows.begin, rows.length}, causal, attention_dropout, maps};
  }
};

// Rows with the dropout rates of a batch; keys [N], empty in inference.
struct DropoutRates {
  double rows = 0, attention = 0;
};
TransformerRows transformer_rows(const PackedRows& rows, std::span<const uint32_t> keys, const DropoutRates& rates);

// x = E[id] · √D + position (§3.4, §3.5), with learned, fixed or no positions.
struct SymbolEmbedding {
  Parameter table;                             // E, [V, D]
  Parameter positions;                         // [P, D] when learned
  std::shared_ptr<const Sinusoids> sinusoids;  // when fixed

  Variable operator()(Context& context, const TransformerRows& rows) const;  // [N, D]
};
// The sinusoids of a config; null where its positions are of another kind.
std::shared_ptr<const Sinusoids> position_table(const ModelConfig& config);

// A decoder layer of the encoder-decoder has cross-attention; an encoder's and a language model's have none (§3.1).
struct TransformerLayer {
  SelfAttention self_attention;
  LayerNorm self_attention_norm;
  std::optional<CrossAttention> cross_attention;
  LayerNorm cross_attention_norm;  // used only with cross-attention
  FeedForward feed_forward;
  LayerNorm feed_forward_norm;
};

// A stack of layers and, when pre-norm, the norm after the last. Each sublayer takes and gives the stream of rows [N, D], with its residual
// and the norm that follows.
struct TransformerStack {
  std::vector<TransformerLayer> layers;
  LayerNorm final_norm;
  bool pre_norm = true;

  static TransformerStack make(ParameterLayout& layout, const ModelConfig& config, const std::string& name, int layers,
                               bool with_cross_attention);

  // The stream in front of the first layer.
  Stream begin(Context& context, const Variable& embedded) const;
  Stream self_attention(Context& context, size_t layer, const Stream& x, const AttentionCall& call, const RowDropout& dropout) const;
  // The newest row of each hypothesis, with the keys and values of those before it in the cache.
  Stream self_attention_step(Context& context, size_t layer, const Stream& x, const PackedRows& rows, KvCache& cache) const;
  // All rows of the prompts, which are rows first_row, first_row + 1, … of the cache; their keys and values go there.
  Stream self_attention_prompts(Context& context, size_t layer, const Stream& x, const PackedRows& prompts, int first_row,
                                KvCache& cache) const;
  // k, v [Ns, D] of the memory.
  Stream cross_attention(Context& context, size_t layer, const Stream& x, const Variable& k, const Variable& v, const AttentionCall& call,
                         const RowDropout& dropout) const;
  Stream feed_forward(Context& context, size_t layer, const Stream& x, const RowDropout& dropout) const;

 private:
  // The norm that follows a sublayer: its own (post-norm), or the one in front of the next sublayer (pre-norm).
  const LayerNorm& after_self_attention(size_t layer) const;
  const LayerNorm& after_cross_attention(size_t layer) const;
  const LayerNorm& after_feed_forward(size_t layer) const;
};

// How a config's attentions are built: self-attention always by scaled dot products.
HeadOptions head_options(const ModelConfig& config, bool cross);

}  // namespace jumok
