#include "attention/multi_head.h"

#include <cmath>

#include "autograd/split.h"

namespace jumok {
namespace {

void append_maps(const ScaledDotInput& in, const std::string& name, AttentionMaps& maps) {
  AttentionMaps::Map map{name, in.heads, {}};
  for (size_t b = 0; b < in.rows.query_begin.size(); ++b) {
    for (int h = 0; h < in.heads; ++h) {
      std::vector<float> weights(static_cast<size_t>(in.rows.query_length[b]) * in.rows.key_length[b]);
      scaled_dot_weights(in, static_cast<int>(b), h, weights.data());
      map.weights.push_back(std::move(weights));
    }
  }
  maps.maps.push_back(std::move(map));
}

}  // namespace

Variable attend(Context& context, const Variable& q, const Variable& k, const Variable& v, int heads, const std::string& name,
                const AttentionCall& call) {
  ScaledDotInput in;
  in.q = q;
  in.k = k;
  in.v = v;
  in.rows = call.rows;
  in.heads = heads;
  in.scale = 1 / std::sqrt(static_cast<float>(q.value.columns / heads));
  in.causal = call.causal;
  in.dropout = context.next_dropout(call.dropout.row_keys, call.dropout.rate);
  if (call.maps != nullptr && (call.maps->only.empty() || call.maps->only == name)) append_maps(in, name, *call.maps);
  return scaled_dot(context, in);
}

SelfAttention SelfAttention::make(ParameterLayout& layout, const std::string& name, int64_t width, int heads) {
  SelfAttention a;
  a.name = name;
  a.heads = heads;
  a.qkv = make_fused(layout, {name + ".query", name + ".key", name + ".value"}, width, width);
  a.output = Linear::make(layout, name + ".output", width, width);
  return a;
}

Variable SelfAttention::operator()(Context& context, const Variable& x, const AttentionCall& call) const {
  const std::vector<Variable> parts = split_columns(context, qkv(context, x), 3);
  return output(context, attend(context, parts[0], parts[1], parts[2], heads, name, call));
}

CrossAttention CrossAttention::make(ParameterLayout& layout, const std::string& name, int64_t width, int heads) {
  CrossAttention a;
  a.name = name;
  a.heads = heads;
  a.query = Linear::make(layout, name + ".query", width, width);
  a.output = Linear::make(layout, name + ".output", width, width);
  return a;
}

Variable CrossAttention::operator()(Context& context, const Variable& x, const Variable& k, const Variable& v,
                                    const AttentionCall& call) const {
  return output(context, attend(context, query(context, x), k, v, heads, name, call));
}

}  // namespace jumok
