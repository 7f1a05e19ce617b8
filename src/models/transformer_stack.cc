#include "models/transformer_stack.h"

#include <cmath>

#include "autograd/embedding.h"

namespace jumok {

HeadOptions head_options(const ModelConfig& config, bool cross) {
  HeadOptions o = config.head_options;
  o.width = config.width;
  o.heads = config.heads;
  if (!cross) o.score = Score::kScaledDot;
  return o;
}

TransformerRows transformer_rows(const PackedRows& rows, std::span<const uint32_t> keys, const DropoutRates& rates) {
  const uint32_t* k = keys.empty() ? nullptr : keys.data();
  return {rows, {static_cast<float>(rates.rows), k}, {static_cast<float>(rates.attention), k}};
}

std::shared_ptr<const Sinusoids> position_table(const ModelConfig& config) {
  if (config.positions != Positions::kSinusoidal) return nullptr;
  return std::make_shared<const Sinusoids>(config.max_positions, config.width);
}

Variable SymbolEmbedding::operator()(Context& context, const TransformerRows& rows) const {
  EmbeddingInput in;
  in.table = table;
  in.ids = rows.rows.ids;
  in.position = rows.rows.position;
  in.scale = std::sqrt(static_cast<float>(table.columns));
  in.learned_positions = positions;
  if (sinusoids != nullptr) in.fixed_positions = sinusoids->table();
  in.dropout = context.next_dropout(rows.dropout.row_keys, rows.dropout.rate);
  return embedding(context, in);
}

TransformerStack TransformerStack::make(ParameterLayout& layout, const ModelConfig& config, const std::string& name, int layers,
                                        bool with_cross_attention) {
  TransformerStack stack;
  stack.pre_norm = config.norm == Norm::kPre;
  for (int l = 0; l < layers; ++l) {
    const std::string prefix = name + ".layers." + std::to_string(l);
    TransformerLayer layer;
    layer.self_attention = SelfAttention::make(layout, prefix + ".self_attention", head_options(config, false));
    layer.self_attention_norm = LayerNorm::make(layout, prefix + ".self_attention_norm", config.width);
    if (with_cross_attention) {
      layer.cross_attention = CrossAttention::make(layout, prefix + ".cross_attention", head_options(config, true));
      layer.cross_attention_norm = LayerNorm::make(layout, prefix + ".cross_attention_norm", config.width);
    }
    layer.feed_forward = FeedForward::make(layout, prefix + ".feed_forward", config.width, config.feed_forward_width);
    layer.feed_forward_norm = LayerNorm::make(layout, prefix + ".feed_forward_norm", config.width);
    stack.layers.push_back(std::move(layer));
  }
  if (stack.pre_norm) stack.final_norm = LayerNorm::make(layout, name + ".norm", config.width);
  return stack;
}

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

Stream TransformerStack::begin(Context& context, const Variable& x) const {
  if (!pre_norm) return {x, x};
  return add_norm(context, {x, x}, {}, layers.front().self_attention_norm, true, {});
}

Stream TransformerStack::self_attention(Context& context, size_t l, const Stream& x, const AttentionCall& call,
                                        const RowDropout& dropout) const {
  const Variable a = layers[l].self_attention(context, x.normed, call);
  return add_norm(context, x, a, after_self_attention(l), pre_norm, dropout);
}

Stream TransformerStack::self_attention_step(Context& context, size_t l, const Stream& x, const PackedRows& rows, KvCache& cache) const {
  const SelfAttention& self = layers[l].self_attention;
  const QueryKeyValue qkv = self.project(context, x.normed);
  cache.append(l, qkv.k.value, qkv.v.value);
  const AttentionCall call{cache.rows(rows.begin, rows.length), false, {}, nullptr};
  const Variable a = self.heads(context, {qkv.q, {cache.keys(l)}, {cache.values(l)}}, call);
  return add_norm(context, x, a, after_self_attention(l), pre_norm, {});
}

Stream TransformerStack::self_attention_prompts(Context& context, size_t l, const Stream& x, const PackedRows& prompts, int first_row,
                                                KvCache& cache) const {
  const SelfAttention& self = layers[l].self_attention;
  const QueryKeyValue qkv = self.project(context, x.normed);
  for (int s = 0; s < prompts.sentences(); ++s) {
    cache.put(l, first_row + s, qkv.k.value, qkv.v.value, prompts.begin[static_cast<size_t>(s)]);
  }
  const Variable a = self.heads(context, qkv, TransformerRows{prompts, {}, {}}.self_attention(true, nullptr));
  return add_norm(context, x, a, after_self_attention(l), pre_norm, {});
}

Stream TransformerStack::cross_attention(Context& context, size_t l, const Stream& x, const Variable& k, const Variable& v,
                                         const AttentionCall& call, const RowDropout& dropout) const {
  const Variable c = (*layers[l].cross_attention)(context, x.normed, k, v, call);
  return add_norm(context, x, c, after_cross_attention(l), pre_norm, dropout);
}

Stream TransformerStack::feed_forward(Context& context, size_t l, const Stream& x, const RowDropout& dropout) const {
  return add_norm(context, x, layers[l].feed_forward(context, x.normed), after_feed_forward(l), pre_norm, dropout);
}

}  // namespace jumok
