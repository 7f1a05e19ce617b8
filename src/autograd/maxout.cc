#include "autograd/maxout.h"

namespace jumok {
namespace {

void maxout_backward(Arena& arena, const Variable& x, const Variable& y) {
  if (!y.gradient->written || x.gradient == nullptr) return;
  const GradientSink dx = sink(arena, x);
  if (!dx.accumulate) kernels::clear(dx.tensor);
  for (int64_t r = 0; r < y.value.rows; ++r) {
    const float *in = x.value.row(r), *dy = y.gradient->tensor.row(r);
    float* out = dx.tensor.row(r);
    for (int64_t c = 0; c < y.value.columns; ++c) out[in[2 * c + 1] > in[2 * c] ? 2 * c + 1 : 2 * c] += dy[c];
  }
}

}  // namespace

Variable maxout(Context& context, const Variable& x) {
  const Variable y = context.result(x.value.rows, x.value.columns / 2);
  for (int64_t r = 0; r < y.value.rows; ++r) {
    const float* in = x.value.row(r);
    float* out = y.value.row(r);
    for (int64_t c = 0; c < y.value.columns; ++c) out[c] = in[2 * c + 1] > in[2 * c] ? in[2 * c + 1] : in[2 * c];
  }
  if (context.tape != nullptr) {
    context.tape->record([&arena = context.arena, x, y] { maxout_backward(arena, x, y); });
  }
  return y;
}

}  // namespace jumok
