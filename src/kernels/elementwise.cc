#include "kernels/elementwise.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/dropout-inl.h"
#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

void Add(ConstRows a, ConstRows b, Rows out) {
  const F32 d;
  for (int64_t r = 0; r < out.rows; ++r) {
    const float *x = a.row(r), *y = b.row(r);
    float* z = out.row(r);
    for_columns(d, out.columns,
                [&](auto part, int64_t c) HWY_ATTR { part.store(d, hn::Add(part.load(d, x + c), part.load(d, y + c)), z + c); });
  }
}

// Four rows a turn: sum = (((sum + r0) + r1) + r2) + r3 saves three of four loads and stores of the sum and keeps the order.
void AccumulateColumns(ConstRows a, float* sum) {
  const F32 d;
  int64_t r = 0;
  for (; r + 4 <= a.rows; r += 4) {
    const float *x0 = a.row(r), *x1 = a.row(r + 1), *x2 = a.row(r + 2), *x3 = a.row(r + 3);
    for_columns(d, a.columns, [&](auto part, int64_t c) HWY_ATTR {
      const V32 first = hn::Add(hn::Add(part.load(d, sum + c), part.load(d, x0 + c)), part.load(d, x1 + c));
      part.store(d, hn::Add(hn::Add(first, part.load(d, x2 + c)), part.load(d, x3 + c)), sum + c);
    });
  }
  for (; r < a.rows; ++r) {
    const float* x = a.row(r);
    for_columns(d, a.columns,
                [&](auto part, int64_t c) HWY_ATTR { part.store(d, hn::Add(part.load(d, sum + c), part.load(d, x + c)), sum + c); });
  }
}

template <class Function>
HWY_INLINE void map_rows(ConstRows x, Rows y, const Function& function) {
  const F32 d;
  for (int64_t r = 0; r < y.rows; ++r) {
    const float* from = x.row(r);
    float* to = y.row(r);
    for_columns(d, y.columns, [&](auto part, int64_t c) HWY_ATTR { part.store(d, function(part.load(d, from + c)), to + c); });
  }
}

// Max(x, 0) in this order turns a NaN into 0 on x86; the comparison keeps it.
HWY_INLINE V32 relu(V32 x) { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(F32())), x); }

void ActivationForward(Activation f, ConstRows x, Rows y) {
  const F32 d;
  switch (f) {
    case Activation::kNone:
      return map_rows(x, y, [](V32 v) HWY_ATTR { return v; });
    case Activation::kRelu:
      return map_rows(x, y, [](V32 v) HWY_ATTR { return relu(v); });
    case Activation::kTanh:
      return map_rows(x, y, [d](V32 v) HWY_ATTR { return Tanh(d, v); });
    case Activation::kSigmoid:
      return map_rows(x, y, [d](V32 v) HWY_ATTR { return Sigmoid(d, v); });
  }
}

template <class Derivative>
HWY_INLINE void chain_rows(ConstRows y, ConstRows dy, Rows dx, const Derivative& derivative) {
  const F32 d;
  for (int64_t r = 0; r < dx.rows; ++r) {
    const float *output = y.row(r), *in = dy.row(r);
    float* out = dx.row(r);
    for_columns(d, dx.columns,
                [&](auto part, int64_t c) HWY_ATTR { part.store(d, derivative(part.load(d, output + c), part.load(d, in + c)), out + c); });
  }
}

void ActivationBackward(Activation f, ConstRows y, ConstRows dy, Rows dx) {
  const V32 one = hn::Set(F32(), 1.0f);
  const V32 zero = hn::Zero(F32());
  switch (f) {
    case Activation::kNone:
      return chain_rows(y, dy, dx, [](V32, V32 g) HWY_ATTR { return g; });
    case Activation::kRelu:
      return chain_rows(y, dy, dx, [zero](V32 v, V32 g) HWY_ATTR { return hn::IfThenElseZero(hn::Gt(v, zero), g); });
    case Activation::kTanh:
      return chain_rows(y, dy, dx, [one](V32 v, V32 g) HWY_ATTR { return hn::Mul(g, hn::NegMulAdd(v, v, one)); });
    case Activation::kSigmoid:
      return chain_rows(y, dy, dx, [one](V32 v, V32 g) HWY_ATTR { return hn::Mul(g, hn::Mul(v, hn::Sub(one, v))); });
  }
}

void Drop(const Dropout& dropout, ConstRows x, Rows y) {
  const F32 d;
  const DropLanes<F32> drop(d, dropout);
  for (int64_t r = 0; r < y.rows; ++r) {
    const uint32_t seed = dropout_row_seed(dropout.row_keys[r], dropout.site);
    const float* from = x.row(r);
    float* to = y.row(r);
    for_columns(d, y.columns, [&](auto part, int64_t c) HWY_ATTR {
      part.store(d, drop.apply(part.load(d, from + c), seed, static_cast<uint32_t>(c)), to + c);
    });
  }
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {

HWY_EXPORT(Add);
HWY_EXPORT(AccumulateColumns);
HWY_EXPORT(ActivationForward);
HWY_EXPORT(ActivationBackward);
HWY_EXPORT(Drop);

void add(ConstRows a, ConstRows b, Rows out) { HWY_DYNAMIC_DISPATCH(Add)(a, b, out); }
void accumulate(ConstRows a, Rows out) { HWY_DYNAMIC_DISPATCH(Add)(out, a, out); }
void accumulate_columns(ConstRows a, float* sum) { HWY_DYNAMIC_DISPATCH(AccumulateColumns)(a, sum); }
void activation_forward(Activation f, ConstRows x, Rows y) { HWY_DYNAMIC_DISPATCH(ActivationForward)(f, x, y); }
void activation_backward(Activation f, ConstRows y, ConstRows dy, Rows dx) { HWY_DYNAMIC_DISPATCH(ActivationBackward)(f, y, dy, dx); }

void broadcast_row(const float* bias, Rows out) {
  for (int64_t r = 0; r < out.rows; ++r) std::copy_n(bias, out.columns, out.row(r));
}

void dropout(const Dropout& dropout, ConstRows x, Rows y) {
  if (dropout.active()) {
    HWY_DYNAMIC_DISPATCH(Drop)(dropout, x, y);
  } else if (x.data != y.data) {
    for (int64_t r = 0; r < y.rows; ++r) std::copy_n(x.row(r), y.columns, y.row(r));
  }
}

}  // namespace jumok::kernels
#endif  // HWY_ONCE
