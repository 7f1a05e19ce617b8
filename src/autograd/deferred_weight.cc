#include "autograd/deferred_weight.h"

#include <algorithm>
#include <cassert>

#include "gemm/gemm.h"
#include "kernels/elementwise.h"

namespace jumok {

struct DeferredWeight::State {
  Arena* arena;
  int64_t expected = 0, rows = 0;  // of all products; so far
  Tensor x, dy;                    // [expected, K], [expected, M]
};

DeferredWeight::DeferredWeight(Context& context, const Parameter& weight, const Parameter& bias) : weight_(weight), bias_(bias) {
  if (context.tape == nullptr) return;
  state_ = new (context.arena.allocate<State>(1).data()) State{&context.arena};
  context.tape->record([context, weight, bias, state = state_] {
    if (state->rows == 0) return;
    const TimedPart time(context.profile, Part::kProducts);
    const Tensor x = state->x.row_slice(0, state->rows), dy = state->dy.row_slice(0, state->rows);
    if (bias.exists()) kernels::accumulate_columns(dy, context.gradient(bias).data);
    gemm::multiply_tn(dy, x, context.gradient(weight), true);
  });
}

void DeferredWeight::expect(int64_t rows) const {
  if (state_ != nullptr) state_->expected += rows;
}

Tensor DeferredWeight::add(const Tensor& x) const {
  State& s = *state_;
  assert(s.rows + x.rows <= s.expected && x.columns == weight_.columns);
  if (!s.dy) {
    s.x = x.rows == s.expected ? x : s.arena->tensor(s.expected, weight_.columns);
    s.dy = s.arena->tensor(s.expected, weight_.rows);
  }
  if (s.x.data != x.data) {
    for (int64_t r = 0; r < x.rows; ++r) std::copy_n(x.row(r), x.columns, s.x.row(s.rows + r));
  }
  s.rows += x.rows;
  return s.dy.row_slice(s.rows - x.rows, x.rows);
}

}  // namespace jumok
