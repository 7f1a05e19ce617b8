#include "kernels/recurrent_cell.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent_cell.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

// One row of a step. `block` is the D-wide column block of a gate, `at` the column in it.
struct CellRow {
  F32 d;
  int64_t width, r;
  const float *x, *h, *c, *bias;
  float *kept, *h_next, *c_next, *out;

  CellRow(const CellStep& s, int64_t row)
      : width(s.h.columns),
        r(row),
        x(s.x.row(s.row[row])),
        h(s.h.row(row)),
        c(s.c.row(row)),
        bias(s.bias),
        kept(s.kept.row(row)),
        h_next(s.h_next.row(row)),
        c_next(s.c_next.row(row)),
        out(s.out.data != nullptr ? s.out.row(s.row[row]) : nullptr) {}

  template <class Lanes>
  HWY_INLINE V32 input(Lanes part, int block, int64_t at) const {
    return part.load(d, x + block * width + at);
  }
  template <class Lanes>
  HWY_INLINE V32 read(Lanes part, int block, int64_t at) const {
    return part.load(d, kept + block * width + at);
  }
  template <class Lanes>
  HWY_INLINE void keep(Lanes part, V32 v, int block, int64_t at) const {
    part.store(d, v, kept + block * width + at);
  }
  // The recurrent half: the product that lies in block `from` and the bias of gate `gate`.
  template <class Lanes>
  HWY_INLINE V32 recurrent(Lanes part, int from, int gate, int64_t at) const {
    const V32 u = read(part, from, at);
    return bias != nullptr ? hn::Add(u, part.load(d, bias + gate * width + at)) : u;
  }
  template <class Lanes>
  HWY_INLINE V32 sum(Lanes part, int gate, int64_t at) const {
    return hn::Add(input(part, gate, at), recurrent(part, gate, gate, at));
  }
  template <class Lanes>
  HWY_INLINE V32 sigmoid(Lanes part, int gate, int64_t at) const {  // and keeps it
    const V32 v = Sigmoid(d, sum(part, gate, at));
    keep(part, v, gate, at);
    return v;
  }
  template <class Lanes>
  HWY_INLINE void next(Lanes part, V32 v, int64_t at) const {
    part.store(d, v, h_next + at);
    if (out != nullptr) part.store(d, v, out + at);
  }
};

template <class Body>
HWY_INLINE void for_cells(const CellStep& s, const Body& body) {
  for (int64_t r = 0; r < s.h.rows; ++r) {
    const CellRow row(s, r);
    for_columns(row.d, row.width, [&](auto part, int64_t at) HWY_ATTR { body(row, part, at); });
  }
}

void Reset(const CellStep& s) {
  for_cells(s, [](const CellRow& row, auto part, int64_t at) HWY_ATTR {
    const V32 r = row.sigmoid(part, 0, at);
    row.sigmoid(part, 1, at);
    row.keep(part, hn::Mul(r, part.load(row.d, row.h + at)), 2, at);
  });
}

void TanhForward(const CellStep& s) {
  for_cells(s, [](const CellRow& row, auto part, int64_t at) HWY_ATTR {
    const V32 h = Tanh(row.d, row.sum(part, 0, at));
    row.keep(part, h, 0, at);
    row.next(part, h, at);
  });
}

void GruForward(const CellStep& s) {
  for_cells(s, [after = s.reset_after](const CellRow& row, auto part, int64_t at) HWY_ATTR {
    V32 z, candidate;
    if (after) {
      const V32 r = row.sigmoid(part, 0, at);
      z = row.sigmoid(part, 1, at);
      const V32 q = row.recurrent(part, 2, 2, at);
      row.keep(part, q, 2, at);
      candidate = hn::MulAdd(r, q, row.input(part, 2, at));
    } else {
      z = row.read(part, 1, at);
      candidate = hn::Add(row.input(part, 2, at), row.recurrent(part, 3, 2, at));
    }
    const V32 n = Tanh(row.d, candidate), h = part.load(row.d, row.h + at);
    row.keep(part, n, 3, at);
    row.next(part, hn::MulAdd(z, h, hn::NegMulAdd(z, n, n)), at);  // (n - z n) + z h
  });
}

void LstmForward(const CellStep& s) {
  for_cells(s, [](const CellRow& row, auto part, int64_t at) HWY_ATTR {
    const V32 i = row.sigmoid(part, 0, at), f = row.sigmoid(part, 1, at), o = row.sigmoid(part, 3, at);
    const V32 g = Tanh(row.d, row.sum(part, 2, at));
    row.keep(part, g, 2, at);
    const V32 c = hn::MulAdd(f, part.load(row.d, row.c + at), hn::Mul(i, g));
    part.store(row.d, c, row.c_next + at);
    const V32 t = Tanh(row.d, c);
    row.keep(part, t, 4, at);
    row.next(part, hn::Mul(o, t), at);
  });
}

// The gradients of one row.
struct GradientRow {
  F32 d;
  int64_t width;
  const float *dout, *dreset;
  float *dh, *dc, *dgates, *dcandidate, *dx;
  bool accumulate;

  GradientRow(const CellStep& s, const CellGradient& g, int64_t r)
      : width(s.h.columns),
        dout(g.dout.data != nullptr ? g.dout.row(s.row[r]) : nullptr),
        dreset(g.dreset.row(r)),
        dh(g.dh.row(r)),
        dc(g.dc.row(r)),
        dgates(g.dgates.row(r)),
        dcandidate(g.dcandidate.row(r)),
        dx(g.dx.data != nullptr ? g.dx.row(s.row[r]) : nullptr),
        accumulate(g.accumulate) {}

  template <class Lanes>
  HWY_INLINE V32 state(Lanes part, int64_t at) const {
    const V32 v = part.load(d, dh + at);
    return dout != nullptr ? hn::Add(v, part.load(d, dout + at)) : v;
  }
  template <class Lanes>
  HWY_INLINE void put_input(Lanes part, int gate, int64_t at, V32 v) const {
    if (dx == nullptr) return;
    float* to = dx + gate * width + at;
    part.store(d, accumulate ? hn::Add(part.load(d, to), v) : v, to);
  }
  template <class Lanes>
  HWY_INLINE void put_recurrent(Lanes part, int gate, int64_t at, V32 v) const {
    part.store(d, v, dgates + gate * width + at);
  }
  template <class Lanes>
  HWY_INLINE void put(Lanes part, int gate, int64_t at, V32 v) const {  // a gate that adds both halves
    put_input(part, gate, at, v);
    put_recurrent(part, gate, at, v);
  }
};

template <class Body>
HWY_INLINE void for_gradients(const CellStep& s, const CellGradient& g, const Body& body) {
  for (int64_t r = 0; r < s.h.rows; ++r) {
    const CellRow row(s, r);
    const GradientRow gradient(s, g, r);
    for_columns(row.d, row.width, [&](auto part, int64_t at) HWY_ATTR { body(row, gradient, part, at); });
  }
}

// dy through y = tanh(·), dy (1 - y²), and through y = sigmoid(·), dy y (1 - y).
HWY_INLINE V32 through_tanh(V32 y, V32 dy) { return hn::Mul(dy, hn::NegMulAdd(y, y, hn::Set(F32(), 1.0f))); }
HWY_INLINE V32 through_sigmoid(V32 y, V32 dy) { return hn::Mul(dy, hn::NegMulAdd(y, y, y)); }

void TanhBackward(const CellStep& s, const CellGradient& g) {
  for_gradients(s, g, [](const CellRow& row, const GradientRow& d, auto part, int64_t at) HWY_ATTR {
    d.put(part, 0, at, through_tanh(row.read(part, 0, at), d.state(part, at)));
  });
}

void GruBackward(const CellStep& s, const CellGradient& g) {
  for_gradients(s, g, [after = s.reset_after](const CellRow& row, const GradientRow& d, auto part, int64_t at) HWY_ATTR {
    const V32 z = row.read(part, 1, at), n = row.read(part, 3, at), h = part.load(row.d, row.h + at);
    const V32 dh = d.state(part, at);
    const V32 dn = through_tanh(n, hn::NegMulAdd(z, dh, dh));
    d.put(part, 1, at, through_sigmoid(z, hn::Mul(dh, hn::Sub(h, n))));
    if (after) {
      const V32 r = row.read(part, 0, at), q = row.read(part, 2, at);
      d.put(part, 0, at, through_sigmoid(r, hn::Mul(dn, q)));
      d.put_recurrent(part, 2, at, hn::Mul(dn, r));
    } else {
      part.store(d.d, dn, d.dcandidate + at);
    }
    d.put_input(part, 2, at, dn);
    part.store(d.d, hn::Mul(dh, z), d.dh + at);
  });
}

void ResetBackward(const CellStep& s, const CellGradient& g) {
  for_gradients(s, g, [](const CellRow& row, const GradientRow& d, auto part, int64_t at) HWY_ATTR {
    const V32 r = row.read(part, 0, at), dreset = part.load(d.d, d.dreset + at);
    d.put(part, 0, at, through_sigmoid(r, hn::Mul(dreset, part.load(row.d, row.h + at))));
    part.store(d.d, hn::MulAdd(dreset, r, part.load(d.d, d.dh + at)), d.dh + at);
  });
}

void LstmBackward(const CellStep& s, const CellGradient& g) {
  for_gradients(s, g, [](const CellRow& row, const GradientRow& d, auto part, int64_t at) HWY_ATTR {
    const V32 i = row.read(part, 0, at), f = row.read(part, 1, at), c = row.read(part, 2, at), o = row.read(part, 3, at);
    const V32 t = row.read(part, 4, at), dh = d.state(part, at);
    const V32 dc = hn::Add(part.load(d.d, d.dc + at), through_tanh(t, hn::Mul(dh, o)));
    d.put(part, 0, at, through_sigmoid(i, hn::Mul(dc, c)));
    d.put(part, 1, at, through_sigmoid(f, hn::Mul(dc, part.load(row.d, row.c + at))));
    d.put(part, 2, at, through_tanh(c, hn::Mul(dc, i)));
    d.put(part, 3, at, through_sigmoid(o, hn::Mul(dh, t)));
    part.store(d.d, hn::Mul(dc, f), d.dc + at);
  });
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {

HWY_EXPORT(Reset);
HWY_EXPORT(TanhForward);
HWY_EXPORT(GruForward);
HWY_EXPORT(LstmForward);
HWY_EXPORT(ResetBackward);
HWY_EXPORT(TanhBackward);
HWY_EXPORT(GruBackward);
HWY_EXPORT(LstmBackward);

void cell_reset(const CellStep& step) { HWY_DYNAMIC_DISPATCH(Reset)(step); }

void cell_forward(const CellStep& step) {
  switch (step.cell) {
    case Cell::kTanh:
      return HWY_DYNAMIC_DISPATCH(TanhForward)(step);
    case Cell::kGru:
      return HWY_DYNAMIC_DISPATCH(GruForward)(step);
    case Cell::kLstm:
      return HWY_DYNAMIC_DISPATCH(LstmForward)(step);
  }
}

void cell_reset_backward(const CellStep& step, const CellGradient& gradient) { HWY_DYNAMIC_DISPATCH(ResetBackward)(step, gradient); }

void cell_backward(const CellStep& step, const CellGradient& gradient) {
  switch (step.cell) {
    case Cell::kTanh:
      return HWY_DYNAMIC_DISPATCH(TanhBackward)(step, gradient);
    case Cell::kGru:
      return HWY_DYNAMIC_DISPATCH(GruBackward)(step, gradient);
    case Cell::kLstm:
      return HWY_DYNAMIC_DISPATCH(LstmBackward)(step, gradient);
  }
}

}  // namespace jumok::kernels
#endif  // HWY_ONCE
