// The inner loops of the RNN attentions: one query against a strip of up to four keys, whose rows lie a stride apart. Every sum has one
// order, whatever the length of the strip: columns in rising order lane by lane, keys in rising order. Once per Highway target.
#if defined(JUMOK_KERNELS_ROW_ATTENTION_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef JUMOK_KERNELS_ROW_ATTENTION_STRIP_INL_H_
#undef JUMOK_KERNELS_ROW_ATTENTION_STRIP_INL_H_
#else
#define JUMOK_KERNELS_ROW_ATTENTION_STRIP_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"
#include "kernels/row_attention_head.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kStripKeys = 4;

using RowTag = hn::ScalableTag<float>;
using RowVector = hn::Vec<RowTag>;

// body(std::integral_constant<int, n>()) for n = 1 … kStripKeys.
template <class Body>
HWY_INLINE void with_strip(int64_t n, const Body& body) {
  switch (n) {
    case 1:
      return body(std::integral_constant<int, 1>());
    case 2:
      return body(std::integral_constant<int, 2>());
    case 3:
      return body(std::integral_constant<int, 3>());
    default:
      return body(std::integral_constant<int, kStripKeys>());
  }
}

// The last lanes of a row where whole vectors leave a rest: the vector that ends with the row, of which the first lanes are not ours.
// Masked memory operations may touch what lies behind a row (AVX2 on AMD), and a copy lane by lane takes longer than a strip of 32 columns.
template <class D>
struct Last {
  hn::Mask<D> ours;

  HWY_INLINE Last(D d, size_t count) : ours(hn::Not(hn::FirstN(d, hn::Lanes(d) - count))) {}
  HWY_INLINE hn::Vec<D> load(D d, const float* from) const { return hn::IfThenElseZero(ours, hn::LoadU(d, from)); }
  HWY_INLINE void store(D d, hn::Vec<D> v, float* to) const { hn::StoreU(hn::IfThenElse(ours, v, hn::LoadU(d, to)), d, to); }
};

// body(part, column, slot) for every vector of a row of n columns; slot: where a copy of the vector stands in a row of whole vectors.
template <class D, class Body>
HWY_INLINE void for_row(D d, int64_t n, const Body& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) body(Whole(), c, c);
  if (c == n) return;
#if HWY_MEM_OPS_MIGHT_FAULT
  if (n >= lanes) return body(Last<D>(d, static_cast<size_t>(n - c)), n - lanes, c);
#endif
  body(Part{static_cast<size_t>(n - c)}, c, c);
}

// x_n: the row of key n of the strip.
struct StripRows {
  const float* data;
  int64_t stride;
  const float* row(int n) const { return data + n * stride; }
};

// sums[n] = a · x_n
template <int N>
HWY_INLINE void strip_dots(const float* a, StripRows x, int64_t width, float* sums) {
  const RowTag d;
  RowVector sum[N];
  for (int n = 0; n < N; ++n) sum[n] = hn::Zero(d);
  for_row(d, width, [&](auto part, int64_t c, int64_t) HWY_ATTR {
    const RowVector left = part.load(d, a + c);
    for (int n = 0; n < N; ++n) sum[n] = hn::MulAdd(left, part.load(d, x.row(n) + c), sum[n]);
  });
  for (int n = 0; n < N; ++n) sums[n] = hn::GetLane(hn::SumOfLanes(d, sum[n]));
}

// sums[n] = u · tanh(q + k_n);  kKeep: the tanh of key n go to kept.row(n), whole vectors.
// Lanes beyond the row hold q = k = u = 0: tanh 0, product 0.
template <int N, bool kKeep>
HWY_INLINE void strip_additive(const float* q, const float* u, StripRows k, int64_t width, float* sums, Rows kept) {
  const RowTag d;
  RowVector sum[N];
  for (int n = 0; n < N; ++n) sum[n] = hn::Zero(d);
  for_row(d, width, [&](auto part, int64_t c, [[maybe_unused]] int64_t slot) HWY_ATTR {
    const RowVector query = part.load(d, q + c), weight = part.load(d, u + c);
    for (int n = 0; n < N; ++n) {
      const RowVector t = HWY_NAMESPACE::Tanh(d, hn::Add(query, part.load(d, k.row(n) + c)));
      if constexpr (kKeep) hn::StoreU(t, d, kept.row(n) + slot);
      sum[n] = hn::MulAdd(weight, t, sum[n]);
    }
  });
  for (int n = 0; n < N; ++n) sums[n] = hn::GetLane(hn::SumOfLanes(d, sum[n]));
}

// y += Σ_n w[n] x_n
template <int N>
HWY_INLINE void strip_mix(const float* w, StripRows x, int64_t width, float* y) {
  const RowTag d;
  RowVector weight[N];
  for (int n = 0; n < N; ++n) weight[n] = hn::Set(d, w[n]);
  for_row(d, width, [&](auto part, int64_t c, int64_t) HWY_ATTR {
    RowVector sum = part.load(d, y + c);
    for (int n = 0; n < N; ++n) sum = hn::MulAdd(weight[n], part.load(d, x.row(n) + c), sum);
    part.store(d, sum, y + c);
  });
}

// y_n += w[n] x
template <int N>
HWY_INLINE void strip_spread(const float* w, const float* x, int64_t width, Rows y) {
  const RowTag d;
  RowVector weight[N];
  for (int n = 0; n < N; ++n) weight[n] = hn::Set(d, w[n]);
  for_row(d, width, [&](auto part, int64_t c, int64_t) HWY_ATTR {
    const RowVector value = part.load(d, x + c);
    for (int n = 0; n < N; ++n) part.store(d, hn::MulAdd(weight[n], value, part.load(d, y.row(n) + c)), y.row(n) + c);
  });
}

// What the gradients ds of the scores e_n = u·tanh(q + k_n) add, t_n the tanh:
//   du += Σ_n ds_n t_n     dq += Σ_n ds_n u (1 - t_n²)     dk_n += ds_n u (1 - t_n²)
struct AdditiveStrip {
  StripRows t;
  const float* u;
  int64_t width;
  float *dq, *du;
  Rows dk;
};
template <int N>
HWY_INLINE void strip_additive_gradient(const float* ds, const AdditiveStrip& s) {
  const RowTag d;
  RowVector gradient[N];
  for (int n = 0; n < N; ++n) gradient[n] = hn::Set(d, ds[n]);
  for_row(d, s.width, [&](auto part, int64_t c, [[maybe_unused]] int64_t slot) HWY_ATTR {
    const RowVector u = part.load(d, s.u + c);
    RowVector dq = part.load(d, s.dq + c), du = part.load(d, s.du + c);
    for (int n = 0; n < N; ++n) {
      const RowVector t = hn::LoadU(d, s.t.row(n) + slot);
      const RowVector slope = hn::Mul(u, hn::NegMulAdd(t, t, hn::Set(d, 1.0f)));
      du = hn::MulAdd(gradient[n], t, du);
      dq = hn::MulAdd(gradient[n], slope, dq);
      part.store(d, hn::MulAdd(gradient[n], slope, part.load(d, s.dk.row(n) + c)), s.dk.row(n) + c);
    }
    part.store(d, dq, s.dq + c);
    part.store(d, du, s.du + c);
  });
}

// exp(-(j - p)² / 2σ²) of the positions `column` + lane.
template <class D>
HWY_INLINE hn::Vec<D> gaussian(D d, int64_t column, float centre, float sigma) {
  const auto distance = hn::Sub(hn::Iota(d, static_cast<float>(column)), hn::Set(d, centre));
  return HWY_NAMESPACE::Exp(d, hn::Mul(hn::Mul(distance, distance), hn::Set(d, -0.5f / (sigma * sigma))));
}

// e[n] of query i with the keys j + n, n < N; of kAdditive the tanh go to `kept` when kKeep.
template <int N, bool kKeep>
HWY_INLINE void strip_scores(const RowHead& h, int64_t i, int64_t j, float* e, Rows kept) {
  const float* q = h.q + i * h.q_stride;
  if (h.score == RowScore::kAdditive) {
    strip_additive<N, kKeep>(q, h.u, {h.k + j * h.k_stride, h.k_stride}, h.key_width, e, kept);
  } else if (h.score == RowScore::kDot) {
    strip_dots<N>(q, {h.k + j * h.k_stride, h.k_stride}, h.key_width, e);
    for (int n = 0; n < N; ++n) e[n] *= h.scale;
  } else {
    for (int n = 0; n < N; ++n) e[n] = q[j + n];
  }
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // JUMOK_KERNELS_ROW_ATTENTION_STRIP_INL_H_
