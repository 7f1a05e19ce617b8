#include "attention/recurrent_attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/row_attention.h"

namespace jumok {
namespace {

kernels::RowScore kernel_of(Score score) {
  if (score == Score::kAdditive || score == Score::kConcat) return kernels::RowScore::kAdditive;
  return score == Score::kLocation ? kernels::RowScore::kGiven : kernels::RowScore::kDot;
}

bool is_scaled(Score score) { return score == Score::kScaledDot || score == Score::kMultiHead; }

struct Mixed {
  Variable c, output;  // [Nq, ·] before and after W_O; output without value where there is none
};

// The parts of a sentence, laid down at the target positions of its rows [at, at + count) from row `begin` of the call.
void fill_parts(const Context& context, const RowAttentionInput& in, const Mixed& mixed, size_t g, int64_t at, AttentionParts& parts) {
  const int64_t begin = in.rows.query_begin[g], count = in.rows.query_length[g];
  parts.scale = in.scale;
  if (parts.key.rows == 0 && in.k.value) {
    parts.key = NumberTable(in.rows.key_length[g], in.k.value.columns);
    parts.key.put(0, in.k.value, in.rows.key_begin[g], in.rows.key_length[g]);
  }
  if (parts.value.rows == 0) {
    parts.value = NumberTable(in.rows.key_length[g], in.v.value.columns);
    parts.value.put(0, in.v.value, in.rows.key_begin[g], in.rows.key_length[g]);
  }
  if (in.u.exists() && parts.vector.empty()) parts.vector.assign(context.value(in.u).data, context.value(in.u).data + in.u.columns);
  parts.query.put(at, in.q.value, begin, count);
  parts.mixed.put(at, mixed.c.value, begin, count);
  if (mixed.output.value) parts.output.put(at, mixed.output.value, begin, count);
  const auto rows = static_cast<size_t>(parts.query.rows);
  if (!in.first.empty()) {
    parts.first.resize(rows);
    parts.last.resize(rows);
    std::copy_n(in.first.begin() + begin, count, parts.first.begin() + at);
    std::copy_n(in.last.begin() + begin, count, parts.last.begin() + at);
  }
  if (!in.centre.value) return;
  parts.sigma = in.sigma;
  parts.centre.resize(rows);
  for (int64_t i = 0; i < count; ++i) parts.centre[static_cast<size_t>(at + i)] = in.centre.value.row(begin + i)[0];
}

// The weights of every group of rows, laid into the map at their sentence and target positions; their parts too, where the map has room for
// them.
void fill_map(const Context& context, const RowAttentionInput& in, const Mixed& mixed, Score score, const RecurrentCall& call) {
  for (size_t g = 0; g < call.sentence.size(); ++g) {
    const size_t s = static_cast<size_t>(in.rows.key_length[g]), t = static_cast<size_t>(in.rows.query_length[g]);
    const auto at = static_cast<size_t>(call.position[static_cast<size_t>(in.rows.query_begin[g])]);
    std::vector<float> weights(t * s);
    for (int h = 0; h < in.heads; ++h) {
      row_attention_weights(context, in, static_cast<int>(g), h, weights.data());
      std::vector<float>& whole = call.map->weights[static_cast<size_t>(call.sentence[g] * in.heads + h)];
      std::copy(weights.begin(), weights.end(), whole.begin() + static_cast<int64_t>(at * s));
    }
    if (call.map->parts.empty()) continue;
    AttentionParts& parts = call.map->parts[static_cast<size_t>(call.sentence[g])];
    const auto length = static_cast<int64_t>(call.map->weights[static_cast<size_t>(call.sentence[g] * in.heads)].size() / s);  // T
    parts.score = score;
    if (parts.query.rows == 0) {
      parts.query = NumberTable(length, in.q.value.columns);
      parts.mixed = NumberTable(length, mixed.c.value.columns);
      if (mixed.output.value) parts.output = NumberTable(length, mixed.output.value.columns);
    }
    fill_parts(context, in, mixed, g, static_cast<int64_t>(at), parts);
  }
}

}  // namespace

RecurrentAttention RecurrentAttention::make(ParameterLayout& layout, const std::string& name, const RecurrentAttentionOptions& o) {
  RecurrentAttention a;
  a.options_ = o;
  if (o.score != Score::kMultiHead) a.options_.heads = 1;
  const bool additive = kernel_of(o.score) == kernels::RowScore::kAdditive;
  if (additive || is_scaled(o.score)) {
    a.query_ = Linear::without_bias(layout, name + ".query", o.query_width, o.inner_width);
    a.keys_ = Linear::without_bias(layout, name + ".key", o.memory_width, o.inner_width);
  }
  if (additive) a.vector_ = layout.vector(name + ".score", o.inner_width, Initial::kXavierUniform);
  if (o.score == Score::kGeneral) a.keys_ = Linear::without_bias(layout, name + ".key", o.memory_width, o.query_width);
  if (o.score == Score::kLocation) a.query_ = Linear::without_bias(layout, name + ".location", o.query_width, o.positions);
  if (is_scaled(o.score)) a.values_ = Linear::without_bias(layout, name + ".value", o.memory_width, o.inner_width);
  if (o.score == Score::kMultiHead) a.output_ = Linear::without_bias(layout, name + ".output", o.inner_width, o.inner_width);
  if (o.window == Window::kLocalP) a.centre_ = CentrePredictor::make(layout, name + ".centre", o.query_width);
  return a;
}

RecurrentMemory RecurrentAttention::prepare(Context& context, const Variable& memory) const {
  RecurrentMemory m;
  if (options_.score != Score::kLocation) m.keys = keys_.exists() ? keys_(context, memory) : memory;
  m.values = values_.exists() ? values_(context, memory) : memory;
  m.query = {context, query_.weight, {}};
  m.output = {context, output_.weight, {}};
  if (centre_.exists()) m.centre = {context, centre_};
  return m;
}

Variable RecurrentAttention::operator()(Context& context, const Variable& q, const RecurrentMemory& memory,
                                        const RecurrentCall& call) const {
  RowAttentionInput in;
  in.q = query_.exists() ? linear(context, q, memory.query) : q;
  in.k = memory.keys;
  in.v = memory.values;
  in.u = vector_;
  in.rows = call.rows;
  in.score = kernel_of(options_.score);
  in.heads = options_.heads;
  if (is_scaled(options_.score)) in.scale = 1 / std::sqrt(static_cast<float>(in.q.value.columns / in.heads));
  KeyRanges ranges;
  if (options_.window == Window::kLocalM) ranges = monotonic_window(context.arena, call.rows, call.position, options_.half_width);
  if (centre_.exists()) {
    in.centre = predict_centre(context, memory.centre, q, call.rows);
    in.sigma = static_cast<float>(options_.half_width) / 2;
    ranges = window_around(context.arena, in.centre.value, options_.half_width);
  }
  in.first = ranges.first;
  in.last = ranges.last;
  in.dropout = context.next_dropout(call.dropout.row_keys, call.dropout.rate);
  Mixed mixed{row_attention(context, in), {}};
  if (output_.exists()) mixed.output = linear(context, mixed.c, memory.output);
  if (call.map != nullptr) fill_map(context, in, mixed, options_.score, call);
  return output_.exists() ? mixed.output : mixed.c;
}

}  // namespace jumok
