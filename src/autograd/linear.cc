#include "autograd/linear.h"

#include "gemm/gemm.h"

namespace jumok {
using kernels::Activation;
namespace {

struct LinearStep {
  Variable x, y;
  Parameter weight, bias;
  Activation activation;
};

void linear_backward(const Context& context, const LinearStep& s) {
  if (!s.y.gradient->written) return;
  const Tensor dy = s.y.gradient->tensor;
  if (s.activation != Activation::kNone) {  // in place: dy has no reader but this step
    const TimedPart time(context.profile, Part::kActivation);
    kernels::activation_backward(s.activation, s.y.value, dy, dy);
  }
  const TimedPart time(context.profile, Part::kProducts);
  if (s.bias.exists()) kernels::accumulate_columns(dy, context.gradient(s.bias).data);
  gemm::multiply_tn(dy, s.x.value, context.gradient(s.weight), true);
  if (s.x.gradient != nullptr) {
    const GradientSink dx = sink(context.arena, s.x);
    gemm::multiply_nn(dy, context.value(s.weight), dx.tensor, dx.accumulate);
  }
}

}  // namespace

Variable linear(Context& context, const Variable& x, const Parameter& weight, const Parameter& bias, Activation activation) {
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
    context.tape->record([context, s = LinearStep{x, y, weight, bias, activation}] { linear_backward(context, s); });
  }
  return y;
}

}  // namespace jumok
