#include "autograd/scaled_dot.h"

#include <algorithm>

#include "kernels/attention.h"

namespace jumok {
namespace {

kernels::Attention arguments(const ScaledDotInput& in) {
  kernels::Attention a;
  a.q = in.q.value;
  a.k = in.k.value;
  a.v = in.v.value;
  a.batch = {static_cast<int>(in.rows.query_begin.size()), in.rows.query_begin.data(), in.rows.query_length.data(),
             in.rows.key_begin.data(), in.rows.key_length.data()};
  a.heads = in.heads;
  a.key_width = static_cast<int>(in.q.value.columns / in.heads);
  a.value_width = static_cast<int>(in.v.value.columns / in.heads);
  a.scale = in.scale;
  a.causal = in.causal;
  a.dropout = in.dropout;
  return a;
}

// The kernel has one accumulate flag for all three; where they differ (keys that are also values), fresh ones start from zero.
void scaled_dot_backward(const Context& context, const ScaledDotInput& in, const Variable& out, const float* lse) {
  if (!out.gradient->written) return;
  const TimedPart time(context.profile, Part::kAttention);
  const GradientSink sinks[] = {sink(context.arena, in.q), sink(context.arena, in.k), sink(context.arena, in.v)};
  kernels::AttentionGradient g;
  g.accumulate = std::any_of(std::begin(sinks), std::end(sinks), [](const GradientSink& s) { return s.accumulate; });
  if (g.accumulate) {
    for (const GradientSink& s : sinks) {
      if (!s.accumulate) kernels::clear(s.tensor);
    }
  }
  g.out = out.value;
  g.dout = out.gradient->tensor;
  g.lse = lse;
  g.dq = sinks[0].tensor;
  g.dk = sinks[1].tensor;
  g.dv = sinks[2].tensor;
  const kernels::Attention a = arguments(in);
  g.workspace = context.arena.allocate<float>(kernels::attention_backward_workspace(a)).data();
  kernels::attention_backward(a, g);
}

}  // namespace

Variable scaled_dot(Context& context, const ScaledDotInput& in) {
  const Variable out = context.result(in.q.value.rows, in.v.value.columns);
  float* lse = context.tape != nullptr ? context.arena.allocate<float>(in.q.value.rows * in.heads).data() : nullptr;
  {
    const TimedPart time(context.profile, Part::kAttention);
    kernels::attention_forward(arguments(in), out.value, lse);
  }
  if (context.tape != nullptr) {
    context.tape->record([context, in, out, lse] { scaled_dot_backward(context, in, out, lse); });
  }
  return out;
}

void scaled_dot_weights(const ScaledDotInput& in, int sentence, int head, float* weights) {
  kernels::attention_weights(arguments(in), sentence, head, weights);
}

}  // namespace jumok
