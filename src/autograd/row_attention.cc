#include "autograd/row_attention.h"

#include <algorithm>

#include "base/error.h"

namespace jumok {
namespace {

void check_input(const RowAttentionInput& in) {
  const Tensor &q = in.q.value, &k = in.k.value, &v = in.v.value;
  check(in.heads > 0 && q.columns % in.heads == 0 && v.columns % in.heads == 0,
        "attention: expected a number of heads that divides the widths {} of the queries and {} of the values, found {}", q.columns,
        v.columns, in.heads);
  check(in.score == kernels::RowScore::kGiven || (k.columns == q.columns && k.rows == v.rows),
        "attention: expected keys [{}, {}], a row for each value and as wide as a query, found [{}, {}]", v.rows, q.columns, k.rows,
        k.columns);
  check(in.score != kernels::RowScore::kAdditive || in.u.columns == q.columns,
        "additive attention: expected a vector u of the queries' width {}, found {}", q.columns, in.u.columns);
  const auto rows = static_cast<size_t>(q.rows);
  check(in.first.size() == in.last.size() && (in.first.empty() || in.first.size() == rows),
        "attention in a window: expected a first and a last key for each of {} queries, found {} and {}", q.rows, in.first.size(),
        in.last.size());
  check(!in.centre.value || (in.centre.value.rows == q.rows && in.centre.value.columns == 1 && in.sigma > 0),
        "attention with a Gaussian: expected one centre for each of {} queries and a positive sigma, found [{}, {}] and {}", q.rows,
        in.centre.value.rows, in.centre.value.columns, in.sigma);
}

// The centres one behind the other, as the kernel reads them; null when there are none.
float* packed_centres(const Context& context, const RowAttentionInput& in) {
  if (!in.centre.value) return nullptr;
  float* packed = context.arena.allocate<float>(in.centre.value.rows).data();
  for (int64_t r = 0; r < in.centre.value.rows; ++r) packed[r] = *in.centre.value.row(r);
  return packed;
}

kernels::RowAttention arguments(const Context& context, const RowAttentionInput& in) {
  kernels::RowAttention a;
  a.q = in.q.value;
  a.k = in.k.value;
  a.v = in.v.value;
  a.batch = {static_cast<int>(in.rows.query_begin.size()), in.rows.query_begin.data(), in.rows.query_length.data(),
             in.rows.key_begin.data(), in.rows.key_length.data()};
  a.score = in.score;
  if (in.score == kernels::RowScore::kAdditive) a.u = context.value(in.u).data;
  a.heads = in.heads;
  a.key_width = static_cast<int>(in.q.value.columns / in.heads);
  a.value_width = static_cast<int>(in.v.value.columns / in.heads);
  a.scale = in.scale;
  if (!in.first.empty()) {
    a.first = in.first.data();
    a.last = in.last.data();
  }
  a.centre = packed_centres(context, in);
  a.sigma = in.sigma;
  a.dropout = in.dropout;
  return a;
}

// Where the kernel adds: zeros at first, in the rows too that this call does not reach. Null where nobody asks.
Tensor added(const Context& context, const Variable& v) {
  if (v.gradient == nullptr || !v.value) return {};
  const GradientSink s = sink(context.arena, v);
  if (!s.accumulate) kernels::clear(s.tensor);
  return s.tensor;
}

void row_attention_backward(const Context& context, const RowAttentionInput& in, const Variable& out, const float* lse) {
  if (!out.gradient->written) return;
  const TimedPart time(context.profile, Part::kAttention);
  const kernels::RowAttention a = arguments(context, in);
  kernels::RowAttentionGradient g;
  g.out = out.value;
  g.dout = out.gradient->tensor;
  g.lse = lse;
  g.dq = added(context, in.q);
  if (in.score != kernels::RowScore::kGiven) g.dk = added(context, in.k);
  g.dv = added(context, in.v);
  if (in.score == kernels::RowScore::kAdditive) g.du = context.gradient(in.u).data;
  const Tensor dcentre = added(context, in.centre);
  const std::span<float> packed = context.arena.allocate<float>(dcentre.rows);
  std::fill(packed.begin(), packed.end(), 0.0f);
  if (dcentre) g.dcentre = packed.data();
  g.workspace = context.arena.allocate<float>(kernels::row_attention_backward_workspace(a)).data();
  kernels::row_attention_backward(a, g);
  for (int64_t r = 0; r < dcentre.rows; ++r) *dcentre.row(r) += packed[static_cast<size_t>(r)];
}

}  // namespace

Variable row_attention(Context& context, const RowAttentionInput& in) {
  check_input(in);
  const Variable out = context.result(in.q.value.rows, in.v.value.columns);
  float* lse = context.tape != nullptr ? context.arena.allocate<float>(in.q.value.rows * in.heads).data() : nullptr;
  {
    const TimedPart time(context.profile, Part::kAttention);
    kernels::row_attention_forward(arguments(context, in), out.value, lse);
  }
  if (context.tape != nullptr) {
    context.tape->record([context, in, out, lse] { row_attention_backward(context, in, out, lse); });
  }
  return out;
}

void row_attention_weights(const Context& context, const RowAttentionInput& in, int sentence, int head, float* weights) {
  check_input(in);
  kernels::row_attention_weights(arguments(context, in), sentence, head, weights);
}

}  // namespace jumok
