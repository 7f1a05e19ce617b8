#include "attention/multi_head.h"

#include <algorithm>
#include <cmath>

#include "autograd/row_attention.h"
#include "autograd/rows.h"
#include "autograd/split.h"

namespace jumok {
namespace {

// Adds a map of every sentence's and head's weights, by `weights_of(sentence, head, place)`, and what they came from.
template <typename WeightsOf>
void append_map(const Heads& h, const QueryKeyValue& x, const Variable& mixed, const AttentionParts& like, const AttentionCall& call,
                WeightsOf weights_of) {
  AttentionMaps::Map map{h.name, h.heads, {}, {}};
  const AttentionRows& rows = call.rows;
  for (size_t b = 0; b < rows.query_begin.size(); ++b) {
    for (int head = 0; head < h.heads; ++head) {
      map.weights.emplace_back(static_cast<size_t>(rows.query_length[b]) * rows.key_length[b]);
      weights_of(static_cast<int>(b), head, map.weights.back().data());
    }
    if (!call.maps->parts) continue;
    AttentionParts p = like;
    const auto copy = [](const Tensor& from, int64_t begin, int64_t count) {
      NumberTable table(count, from.columns);
      table.put(0, from, begin, count);
      return table;
    };
    p.query = copy(x.q.value, rows.query_begin[b], rows.query_length[b]);
    p.key = copy(x.k.value, rows.key_begin[b], rows.key_length[b]);
    p.value = copy(x.v.value, rows.key_begin[b], rows.key_length[b]);
    p.mixed = copy(mixed.value, rows.query_begin[b], rows.query_length[b]);
    map.parts.push_back(std::move(p));
  }
  call.maps->maps.push_back(std::move(map));
}

bool wants_map(const Heads& h, const AttentionCall& call) { return call.maps != nullptr && call.maps->wants(h.name); }

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
  const Variable mixed = row_attention(context, in);
  if (wants_map(h, call)) {
    AttentionParts like;
    like.score = Score::kAdditive;
    const Tensor v = context.value(h.vector);
    like.vector.assign(v.data, v.data + v.columns);
    append_map(h, x, mixed, like, call, [&](int b, int head, float* w) { row_attention_weights(context, in, b, head, w); });
  }
  return mixed;
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
  const Variable mixed = scaled_dot(context, in);
  if (wants_map(h, call)) {
    AttentionParts like;
    like.score = h.scale ? Score::kScaledDot : Score::kDot;
    like.scale = in.scale;
    like.causal = in.causal;
    append_map(h, x, mixed, like, call, [&](int b, int head, float* w) { scaled_dot_weights(in, b, head, w); });
  }
  return mixed;
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
  const Variable y = output(context, vector.exists() ? additive(context, *this, x, call) : dot(context, *this, x, call));
  if (wants_map(*this, call) && call.maps->parts) {
    std::vector<AttentionParts>& parts = call.maps->maps.back().parts;
    for (size_t b = 0; b < parts.size(); ++b) {
      parts[b].output = NumberTable(call.rows.query_length[b], y.value.columns);
      parts[b].output.put(0, y.value, call.rows.query_begin[b], call.rows.query_length[b]);
    }
  }
  return y;
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
