#include "autograd/add_norm.h"

#include "kernels/layer_norm.h"

namespace jumok {
namespace {

kernels::AddNorm arguments(const Context& context, const AddNormInput& in) {
  kernels::AddNorm a;
  a.x = in.x.value;
  if (in.f.value) a.f = in.f.value;
  a.gamma = context.value(in.gamma).data;
  a.beta = context.value(in.beta).data;
  a.dropout = in.dropout;
  a.epsilon = in.epsilon;
  return a;
}

struct AddNormStep {
  AddNormInput in;
  AddNormResult out;
  float *mean, *rstd;  // [N]
};

void add_norm_backward(const Context& context, const AddNormStep& s) {
  Gradient& dsum = *s.out.sum.gradient;
  Gradient& dnormed = *s.out.normed.gradient;
  if (!dnormed.written && !dsum.written) return;
  const TimedPart time(context.profile, Part::kNorm);
  if (!dnormed.written) {  // the norm itself had no reader: only the sum's gradient flows on
    kernels::clear(sink(context.arena, s.out.normed).tensor);
  }
  kernels::AddNormGradient g;
  g.dy = dnormed.tensor;
  if (dsum.written) g.ds = dsum.tensor;
  if (s.in.x.gradient != nullptr) {
    const GradientSink dx = sink(context.arena, s.in.x);
    g.dx = dx.tensor;
    g.accumulate_x = dx.accumulate;
  }
  if (s.in.f.value && s.in.f.gradient != nullptr) {
    const GradientSink df = sink(context.arena, s.in.f);
    g.df = df.tensor;
    g.accumulate_f = df.accumulate;
  }
  g.dgamma = context.gradient(s.in.gamma).data;
  g.dbeta = context.gradient(s.in.beta).data;
  kernels::add_norm_backward(arguments(context, s.in), s.out.sum.value, s.mean, s.rstd, g);
}

}  // namespace

AddNormResult add_norm(Context& context, const AddNormInput& in) {
  const TimedPart time(context.profile, Part::kNorm);
  const int64_t rows = in.x.value.rows, width = in.x.value.columns;
  AddNormResult out;
  out.normed = context.result(rows, width);
  if (in.f.value) {
    out.sum = context.result(rows, width);
  } else {
    out.sum = in.x;  // nothing added: the sum is x itself, and its gradient is x's own
  }
  const bool recording = context.tape != nullptr;
  float* mean = recording ? context.arena.allocate<float>(rows).data() : nullptr;
  float* rstd = recording ? context.arena.allocate<float>(rows).data() : nullptr;
  kernels::add_norm_forward(arguments(context, in), in.f.value ? out.sum.value : Tensor(), out.normed.value, mean, rstd);
  if (!recording) return out;
  if (in.f.value) {
    context.tape->record([context, s = AddNormStep{in, out, mean, rstd}] { add_norm_backward(context, s); });
  } else {
    // x's gradient arrives from later readers of x directly; this step adds what comes through the norm.
    AddNormStep s{in, out, mean, rstd};
    Gradient* none = new (context.arena.allocate<Gradient>(1).data()) Gradient();
    s.out.sum.gradient = none;
    context.tape->record([context, s] { add_norm_backward(context, s); });
  }
  return out;
}

}  // namespace jumok
