#include "autograd/linear.h"

#include "gemm/gemm.h"

namespace jumok {
using kernels::Activation;
namespace {

struct LinearStep {
  Variable x, y;
  DeferredWeight weight;
  Activation activation;
};

// The gradient before the activation, which is what every product takes.
Tensor before_activation(const Context& context, const LinearStep& s) {
  const Tensor dy = s.y.gradient->tensor;
  const Tensor to = s.weight.collects() ? s.weight.add(s.x.value) : dy;  // in place: dy has no reader but this step
  const TimedPart time(context.profile, Part::kActivation);
  if (to.data != dy.data || s.activation != Activation::kNone) kernels::activation_backward(s.activation, s.y.value, dy, to);
  return to;
}

void linear_backward(const Context& context, const LinearStep& s) {
  if (!s.y.gradient->written) return;
  const Tensor dy = before_activation(context, s);
  const Parameter &weight = s.weight.weight(), &bias = s.weight.bias();
  const TimedPart time(context.profile, Part::kProducts);
  if (!s.weight.collects()) {
    if (bias.exists()) kernels::accumulate_columns(dy, context.gradient(bias).data);
    gemm::multiply_tn(dy, s.x.value, context.gradient(weight), true);
  }
  if (s.x.gradient != nullptr) {
    const GradientSink dx = sink(context.arena, s.x);
    gemm::multiply_nn(dy, context.value(weight), dx.tensor, dx.accumulate);
  }
}

}  // namespace

Variable linear(Context& context, const Variable& x, const Parameter& weight, const Parameter& bias, Activation activation) {
  return linear(context, x, DeferredWeight(weight, bias), activation);
}

Variable linear(Context& context, const Variable& x, const DeferredWeight& deferred, Activation activation) {
  const Parameter &weight = deferred.weight(), &bias = deferred.bias();
  const Variable y = context.result(x.value.rows, weight.rows);
  {
    const TimedPart time(context.profile, Part::kProducts);
    if (bias.exists()) kernels::broadcast_row(context.value(bias).data, y.value);
    gemm::multiply_nt(x.value, context.value(weight), y.value, bias.exists());
  }
  if (activation != Activation::kNone) {
    const TimedPart time(context.profile, Part::kActivation);
    kernels::activation_forward(activation, y.value, y.value);
  }
  if (context.tape != nullptr) {
    deferred.expect(x.value.rows);
    context.tape->record([context, s = LinearStep{x, y, deferred, activation}] { linear_backward(context, s); });
  }
  return y;
}

}  // namespace jumok
