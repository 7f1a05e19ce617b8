#include "attention/multi_head.h"

#include <algorithm>
#include <cmath>

#include "autograd/row_attention.h"
#include "autograd/rows.h"
#include "autograd/split.h"

namespace jumok {
namespace {

// Every sentence's and head's weights, by `weights_of(sentence, head, place)`.
template <typename WeightsOf>
void append_map(const Heads& h, const AttentionCall& call, WeightsOf weights_of) {
  if (call.maps == nullptr || (!call.maps->only.empty() && call.maps->only != h.name)) return;
  AttentionMaps::Map map{h.name, h.heads, {}};
  for (size_t b = 0; b < call.rows.query_begin.size(); ++b) {
    for (int head = 0; head < h.heads; ++head) {
      map.weights.emplace_back(static_cast<size_t>(call.rows.query_length[b]) * call.rows.key_length[b]);
      weights_of(static_cast<int>(b), head, map.weights.back().data());
    }
  }
  call.maps->maps.push_back(std::move(map));
}

Variable additive(Context& context, const Heads& h, const QueryKeyValue& x, const AttentionCall& call) {
  RowAttentionInput in;
  in.q = x.q;
  in.k = x.k;
  in.v = x.v;
  in.u = h.vector;
  in.rows = call.rows;
  in.score = kernels::RowScore::kAdditive;
  in.heads = h.heads;
  in.dropout = context.next_dropout(call.dropout.row_keys, call.dropout.rate);
  append_map(h, call, [&](int sentence, int head, float* weights) { row_attention_weights(context, in, sentence, head, weights); });
  return row_attention(context, in);
}

Variable dot(Context& context, const Heads& h, const QueryKeyValue& x, const AttentionCall& call) {
  ScaledDotInput in;
  in.q = x.q;
  in.k = x.k;
  in.v = x.v;
  in.rows = call.rows;
  in.heads = h.heads;
  if (h.scale) in.scale = 1 / std::sqrt(static_cast<float>(x.q.value.columns / h.heads));
  in.causal = call.causal;
  in.dropout = context.next_dropout(call.dropout.row_keys, call.dropout.rate);
  append_map(h, call, [&](int sentence, int head, float* weights) { scaled_dot_weights(in, sentence, head, weights); });
  return scaled_dot(context, in);
}

Heads make_heads(ParameterLayout& layout, const std::string& name, const HeadOptions& o) {
  Heads h;
  h.name = name;
  h.heads = o.heads;
  h.scale = o.scale && o.score == Score::kScaledDot;
  if (o.score == Score::kAdditive) h.vector = layout.vector(name + ".score", o.width, Initial::kXavierUniform);
  h.output = Linear::make(layout, name + ".output", o.width, o.width);
  return h;
}

// The dot score compares the states as they are, the general one projects the keys alone (Luong 2015 §3.1).
bool projects_query(const HeadOptions& o) { return o.query && o.score != Score::kDot && o.score != Score::kGeneral; }
bool projects_key(const HeadOptions& o) { return o.key && o.score != Score::kDot; }
bool projects_value(const HeadOptions& o) { return o.value && o.sharing == Sharing::kSeparate; }

}  // namespace

Variable Heads::operator()(Context& context, const QueryKeyValue& x, const AttentionCall& call) const {
  return output(context, vector.exists() ? additive(context, *this, x, call) : dot(context, *this, x, call));
}

SelfAttention SelfAttention::make(ParameterLayout& layout, const std::string& name, const HeadOptions& o) {
  SelfAttention a;
  std::vector<std::string> names;
  const auto add = [&](const char* which) {
    names.push_back(name + which);
    return static_cast<int>(names.size()) - 1;
  };
  if (o.sharing == Sharing::kOne) {
    a.query_ = a.key_ = a.value_ = add(".shared");
  } else {
    if (o.query) a.query_ = add(".query");
    if (o.key) a.key_ = add(".key");
    if (o.sharing == Sharing::kKeyIsValue) a.value_ = a.key_;
    if (projects_value(o)) a.value_ = add(".value");
  }
  if (!names.empty()) a.projections_ = make_fused(layout, names, o.width, o.width);
  a.heads = make_heads(layout, name, o);
  return a;
}

QueryKeyValue SelfAttention::project(Context& context, const Variable& x) const {
  const int highest = std::max({query_, key_, value_});
  std::vector<Variable> parts;
  if (highest >= 0) parts = split_columns(context, projections_(context, x), highest + 1);
  std::vector<bool> taken(parts.size());
  // The kernel adds to three gradients: what stands in several places gets one for each.
  const auto pick = [&](int part) {
    if (part < 0) return branch(context, x);
    if (taken[part]) return branch(context, parts[part]);
    taken[part] = true;
    return parts[part];
  };
  const Variable q = pick(query_), k = pick(key_);
  return {q, k, pick(value_)};
}

CrossAttention CrossAttention::make(ParameterLayout& layout, const std::string& name, const HeadOptions& o) {
  CrossAttention a;
  if (o.sharing == Sharing::kOne) {
    a.query_ = Linear::make(layout, name + ".shared", o.width, o.width);
  } else if (projects_query(o)) {
    a.query_ = Linear::make(layout, name + ".query", o.width, o.width);
  }
  a.heads = make_heads(layout, name, o);
  return a;
}

MemoryProjection::MemoryProjection(ParameterLayout& layout, const std::vector<CrossAttention>& layers, const HeadOptions& o)
    : options_(o), layers_(static_cast<int>(layers.size())) {
  std::vector<std::string> names;
  for (const CrossAttention& a : layers) {
    if (o.sharing == Sharing::kOne) {
      shared_.push_back(a.query());
      continue;
    }
    if (projects_key(o)) names.push_back(a.heads.name + ".key");
    if (projects_value(o)) names.push_back(a.heads.name + ".value");
  }
  if (!names.empty()) projections_ = make_fused(layout, names, o.width, o.width);
}

std::vector<Variable> MemoryProjection::operator()(Context& context, const Variable& memory) const {
  const bool key = projects_key(options_), value = projects_value(options_);
  std::vector<Variable> parts, out;
  if (projections_.exists()) parts = split_columns(context, projections_(context, memory), layers_ * (int{key} + int{value}));
  size_t next = 0;
  for (int l = 0; l < layers_; ++l) {
    Variable k = memory, v = memory;
    if (options_.sharing == Sharing::kOne) {
      k = shared_[static_cast<size_t>(l)](context, memory);
    } else if (key) {
      k = parts[next++];
    }
    if (value) {
      v = parts[next++];
    } else if (options_.sharing != Sharing::kSeparate) {
      v = k;
    }
    out.push_back(k);
    out.push_back(value ? v : branch(context, v));  // what stands in two places of one attention gets a gradient for each
  }
  return out;
}

}  // namespace jumok
