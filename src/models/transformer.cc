#include "models/transformer.h"

#include <cmath>

#include "autograd/embedding.h"
#include "nn/positions.h"

namespace jumok {
namespace {

HeadOptions head_options(const ModelConfig& config, bool cross) {
  HeadOptions o = config.head_options;
  o.width = config.width;
  o.heads = config.heads;
  if (!cross) o.score = Score::kScaledDot;
  return o;
}

}  // namespace

const LayerNorm& TransformerStack::after_self_attention(size_t layer) const {
  const TransformerLayer& l = layers[layer];
  if (!pre_norm) return l.self_attention_norm;
  return l.cross_attention ? l.cross_attention_norm : l.feed_forward_norm;
}

const LayerNorm& TransformerStack::after_cross_attention(size_t layer) const {
  return pre_norm ? layers[layer].feed_forward_norm : layers[layer].cross_attention_norm;
}

const LayerNorm& TransformerStack::after_feed_forward(size_t layer) const {
  if (!pre_norm) return layers[layer].feed_forward_norm;
  return layer + 1 < layers.size() ? layers[layer + 1].self_attention_norm : final_norm;
}

Transformer::Transformer(const ModelConfig& config) : config_(config) {
  config_.validate();
  make_embeddings();
  encoder_ = make_stack("encoder", config_.encoder_layers, false);
  decoder_ = make_stack("decoder", config_.decoder_layers, true);
  std::vector<CrossAttention> cross;
  for (const TransformerLayer& l : decoder_.layers) cross.push_back(*l.cross_attention);
  memory_projection_ = MemoryProjection(layout_, cross, head_options(config_, true));
}

void Transformer::make_embeddings() {
  const int width = config_.width;
  const auto embedding = [&](const char* name, int vocabulary) { return layout_.matrix(name, vocabulary, width, Initial::kEmbedding); };
  if (config_.tying == Tying::kAll) {
    source_embedding_ = target_embedding_ = output_weight_ = embedding("embedding.weight", config_.target_vocabulary);
  } else {
    source_embedding_ = embedding("encoder.embedding.weight", config_.source_vocabulary);
    target_embedding_ = embedding("decoder.embedding.weight", config_.target_vocabulary);
    output_weight_ = config_.tying == Tying::kTargetOutput ? target_embedding_ : embedding("output.weight", config_.target_vocabulary);
  }
  if (config_.positions == Positions::kLearned) {
    source_positions_ = layout_.matrix("encoder.positions.weight", config_.max_positions, width, Initial::kEmbedding);
    target_positions_ = layout_.matrix("decoder.positions.weight", config_.max_positions, width, Initial::kEmbedding);
  }
  if (config_.positions == Positions::kSinusoidal) {
    sinusoids_ = sinusoidal_positions(config_.max_positions, width);
  }
}

TransformerStack Transformer::make_stack(const std::string& name, int layers, bool with_cross_attention) {
  TransformerStack stack;
  stack.pre_norm = config_.norm == Norm::kPre;
  for (int l = 0; l < layers; ++l) {
    const std::string prefix = name + ".layers." + std::to_string(l);
    TransformerLayer layer;
    layer.self_attention = SelfAttention::make(layout_, prefix + ".self_attention", head_options(config_, false));
    layer.self_attention_norm = LayerNorm::make(layout_, prefix + ".self_attention_norm", config_.width);
    if (with_cross_attention) {
      layer.cross_attention = CrossAttention::make(layout_, prefix + ".cross_attention", head_options(config_, true));
      layer.cross_attention_norm = LayerNorm::make(layout_, prefix + ".cross_attention_norm", config_.width);
    }
    layer.feed_forward = FeedForward::make(layout_, prefix + ".feed_forward", config_.width, config_.feed_forward_width);
    layer.feed_forward_norm = LayerNorm::make(layout_, prefix + ".feed_forward_norm", config_.width);
    stack.layers.push_back(std::move(layer));
  }
  if (stack.pre_norm) stack.final_norm = LayerNorm::make(layout_, name + ".norm", config_.width);
  return stack;
}

std::vector<std::string> Transformer::source_attentions() const {
  std::vector<std::string> names;
  for (const TransformerLayer& l : decoder_.layers) names.push_back(l.cross_attention->heads.name);
  return names;
}

Stream Transformer::embed(Context& context, const Parameter& table, const TransformerRows& rows, const TransformerStack& stack) const {
  EmbeddingInput in;
  in.table = table;
  in.ids = rows.rows.ids;
  in.position = rows.rows.position;
  in.scale = std::sqrt(static_cast<float>(config_.width));
  in.learned_positions = &stack == &encoder_ ? source_positions_ : target_positions_;
  if (!sinusoids_.empty())
    in.fixed_positions = {const_cast<float*>(sinusoids_.data()), config_.max_positions, config_.width, config_.width};
  in.dropout = context.next_dropout(rows.dropout.row_keys, rows.dropout.rate);
  const Variable x = embedding(context, in);
  if (!stack.pre_norm) return {x, x};
  return add_norm(context, {x, x}, {}, stack.first_norm(), true, {});
}

Variable Transformer::encode(Context& context, const TransformerRows& source, AttentionMaps* maps) const {
  const PackedRows& r = source.rows;
  const AttentionCall call{{r.begin, r.length, r.begin, r.length}, false, source.attention_dropout, maps};
  Stream x = embed(context, source_embedding_, source, encoder_);
  for (size_t l = 0; l < encoder_.layers.size(); ++l) {
    const TransformerLayer& layer = encoder_.layers[l];
    x = add_norm(context, x, layer.self_attention(context, x.normed, call), encoder_.after_self_attention(l), encoder_.pre_norm,
                 source.dropout);
    x = add_norm(context, x, layer.feed_forward(context, x.normed), encoder_.after_feed_forward(l), encoder_.pre_norm, source.dropout);
  }
  return x.normed;
}

Stream Transformer::cross_and_feed_forward(Context& context, size_t l, Stream x, const Variable& k, const Variable& v,
                                           const AttentionCall& cross, const RowDropout& dropout) const {
  const TransformerLayer& layer = decoder_.layers[l];
  const Variable c = (*layer.cross_attention)(context, x.normed, k, v, cross);
  x = add_norm(context, x, c, decoder_.after_cross_attention(l), decoder_.pre_norm, dropout);
  return add_norm(context, x, layer.feed_forward(context, x.normed), decoder_.after_feed_forward(l), decoder_.pre_norm, dropout);
}

Variable Transformer::decode(Context& context, const std::vector<Variable>& memory, const PackedRows& source, const TransformerRows& target,
                             AttentionMaps* maps) const {
  const PackedRows& r = target.rows;
  const AttentionCall self{{r.begin, r.length, r.begin, r.length}, true, target.attention_dropout, maps};
  const AttentionCall cross{{r.begin, r.length, source.begin, source.length}, false, target.attention_dropout, maps};
  Stream x = embed(context, target_embedding_, target, decoder_);
  for (size_t l = 0; l < decoder_.layers.size(); ++l) {
    const Variable a = decoder_.layers[l].self_attention(context, x.normed, self);
    x = add_norm(context, x, a, decoder_.after_self_attention(l), decoder_.pre_norm, target.dropout);
    x = cross_and_feed_forward(context, l, x, memory[2 * l], memory[2 * l + 1], cross, target.dropout);
  }
  return x.normed;
}

Variable Transformer::hidden(Context& context, const PairBatch& batch) const {
  const auto side = [&](const PackedRows& rows, std::span<const uint32_t> keys) {
    const uint32_t* k = keys.empty() ? nullptr : keys.data();
    return TransformerRows{rows, {static_cast<float>(batch.dropout), k}, {static_cast<float>(batch.attention_dropout), k}};
  };
  const Variable memory = encode(context, side(batch.source, batch.source_keys), batch.maps);
  return decode(context, project_memory(context, memory), batch.source, side(batch.target.input, batch.target_keys), batch.maps);
}

OutputLoss Transformer::loss(Context& context, const PairBatch& batch) const {
  const Variable h = hidden(context, batch);
  return output_loss(context, {h, output_weight_, {}, batch.target.labels, static_cast<float>(batch.smoothing)});
}

void Transformer::nll(Context& context, const PairBatch& batch, float* nll) const {
  const Variable h = hidden(context, batch);
  output_nll(context, {h, output_weight_, {}, batch.target.labels, 0, batch.forbidden}, nll);
}

}  // namespace jumok
