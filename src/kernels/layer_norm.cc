#include "kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/dropout-inl.h"
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

// The residual sum of row r: stored to `sum` (when there is one) and summed on the way.
template <bool kDrop>
HWY_INLINE float add_row(const AddNorm& in, const DropLanes<F32>& drop, int64_t r, float* sum) {
  const F32 d;
  const float* x = in.x.row(r);
  const float* f = in.f.data ? in.f.row(r) : nullptr;
  const uint32_t seed = kDrop && f ? dropout_row_seed(in.dropout.row_keys[r], in.dropout.site) : 0;
  return sum_columns(d, in.x.columns, [&](auto part, int64_t c) HWY_ATTR {
    V32 v = part.load(d, x + c);
    if (f) {
      V32 branch = part.load(d, f + c);
      if constexpr (kDrop) branch = drop.apply(branch, seed, static_cast<uint32_t>(c));
      v = hn::Add(v, branch);
    }
    if (sum) part.store(d, v, sum + c);
    return v;
  });
}

// Σ (s - mean)²: a second pass over the row (in L1 by now) instead of Σ s² - D mean², which cancels.
HWY_INLINE float squared_deviation(const float* s, int64_t columns, float mean) {
  const F32 d;
  const V32 m = hn::Set(d, mean);
  return sum_columns(d, columns, [&](auto part, int64_t c) HWY_ATTR {
    const V32 deviation = hn::Sub(part.load(d, s + c), m);
    return hn::Mul(deviation, deviation);
  });
}

template <bool kDrop>
HWY_INLINE void norm_rows(const AddNorm& in, Rows s, Rows y, float* mean, float* rstd) {
  const F32 d;
  const DropLanes<F32> drop(d, in.dropout);
  const int64_t columns = y.columns;
  const float inverse = columns ? 1.0f / static_cast<float>(columns) : 0.0f;
  for (int64_t r = 0; r < y.rows; ++r) {
    // Where the sum goes: s, or y for the time being, or nowhere when it is x as it stands.
    float* to = s.data ? s.row(r) : in.f.data ? y.row(r) : nullptr;
    const float m = add_row<kDrop>(in, drop, r, to) * inverse;
    const float* sum = to ? to : in.x.row(r);
    const float scale = 1.0f / std::sqrt(squared_deviation(sum, columns, m) * inverse + in.epsilon);
    if (mean) mean[r] = m;
    if (rstd) rstd[r] = scale;
    float* out = y.row(r);
    const V32 vm = hn::Set(d, m), vs = hn::Set(d, scale);
    for_columns(d, columns, [&](auto part, int64_t c) HWY_ATTR {
      const V32 normal = hn::Mul(hn::Sub(part.load(d, sum + c), vm), vs);
      part.store(d, hn::MulAdd(normal, part.load(d, in.gamma + c), part.load(d, in.beta + c)), out + c);
    });
  }
}

void AddNormForward(const AddNorm& in, Rows s, Rows y, float* mean, float* rstd) {
  in.dropout.active() ? norm_rows<true>(in, s, y, mean, rstd) : norm_rows<false>(in, s, y, mean, rstd);
}

constexpr int kGroup = 4;  // rows whose column loop is shared in the backward: their s and dy fit L1 up to D = 1024

// With n = (s - mean) rstd and g = dy gamma:   d s = rstd (g - mean(g) - n mean(g n))
struct RowTerms {
  float mean, rstd, g, gn;  // g: mean(g); gn: mean(g n)
  uint32_t seed;
};

struct GradientSums {
  V32 g, gn;  // Σ g, Σ g (s - mean)
};

HWY_INLINE RowTerms row_terms(const AddNorm& in, const float* s, const float* dy, float mean, float rstd) {
  const F32 d;
  const int64_t columns = in.x.columns;
  const V32 vm = hn::Set(d, mean);
  const auto step = [&](auto part, int64_t c, GradientSums& sums) HWY_ATTR {
    // In rest lanes dy loads as 0, so both products vanish.
    const V32 g = hn::Mul(part.load(d, dy + c), part.load(d, in.gamma + c));
    sums.g = hn::Add(sums.g, g);
    sums.gn = hn::MulAdd(g, hn::Sub(part.load(d, s + c), vm), sums.gn);
  };
  const auto merge = [](const GradientSums& a, const GradientSums& b) HWY_ATTR {
    return GradientSums{hn::Add(a.g, b.g), hn::Add(a.gn, b.gn)};
  };
  const GradientSums sums = fold_columns(d, columns, GradientSums{hn::Zero(d), hn::Zero(d)}, step, merge);
  const float inverse = columns ? 1.0f / static_cast<float>(columns) : 0.0f;
  const float g = hn::GetLane(hn::SumOfLanes(d, sums.g)), gn = hn::GetLane(hn::SumOfLanes(d, sums.gn));
  return {mean, rstd, g * inverse, gn * rstd * inverse, 0};
}

// out = v or out += v
template <class P>
HWY_INLINE void write(P part, V32 v, bool accumulate, float* out) {
  const F32 d;
  part.store(d, accumulate ? hn::Add(part.load(d, out), v) : v, out);
}

// Rows [first, first + count): column by column, so that dgamma and dbeta are read and written once a group; rows are added in rising order
// all the same.
template <bool kDrop>
HWY_INLINE void backward_group(const AddNorm& in, ConstRows s, const AddNormGradient& gradient, const DropLanes<F32>& drop,
                               const RowTerms* terms, int64_t first, int count) {
  const F32 d;
  const AddNormGradient& to = gradient;
  for_columns(d, s.columns, [&](auto part, int64_t c) HWY_ATTR {
    const V32 gamma = part.load(d, in.gamma + c);
    V32 dgamma = to.dgamma ? part.load(d, to.dgamma + c) : hn::Zero(d);
    V32 dbeta = to.dbeta ? part.load(d, to.dbeta + c) : hn::Zero(d);
    for (int i = 0; i < count; ++i) {
      const int64_t r = first + i;
      const RowTerms& row = terms[i];
      const V32 rstd = hn::Set(d, row.rstd);
      const V32 dy = part.load(d, to.dy.row(r) + c);
      const V32 normal = hn::Mul(hn::Sub(part.load(d, s.row(r) + c), hn::Set(d, row.mean)), rstd);
      dgamma = hn::MulAdd(dy, normal, dgamma);
      dbeta = hn::Add(dbeta, dy);
      const V32 centred = hn::NegMulAdd(normal, hn::Set(d, row.gn), hn::Sub(hn::Mul(dy, gamma), hn::Set(d, row.g)));
      V32 total = hn::Mul(centred, rstd);
      if (to.ds.data) total = hn::Add(total, part.load(d, to.ds.row(r) + c));
      if (to.dx.data) write(part, total, to.accumulate_x, to.dx.row(r) + c);
      if (to.df.data) {
        if constexpr (kDrop) total = drop.apply(total, row.seed, static_cast<uint32_t>(c));
        write(part, total, to.accumulate_f, to.df.row(r) + c);
      }
    }
    if (to.dgamma) part.store(d, dgamma, to.dgamma + c);
    if (to.dbeta) part.store(d, dbeta, to.dbeta + c);
  });
}

template <bool kDrop>
HWY_INLINE void backward_rows(const AddNorm& in, ConstRows s, const float* mean, const float* rstd, const AddNormGradient& gradient) {
  const DropLanes<F32> drop(F32(), in.dropout);
  RowTerms terms[kGroup];
  for (int64_t first = 0; first < s.rows; first += kGroup) {
    const int count = static_cast<int>(std::min<int64_t>(kGroup, s.rows - first));
    for (int i = 0; i < count; ++i) {
      const int64_t r = first + i;
      terms[i] = row_terms(in, s.row(r), gradient.dy.row(r), mean[r], rstd[r]);
      if (kDrop) terms[i].seed = dropout_row_seed(in.dropout.row_keys[r], in.dropout.site);
    }
    backward_group<kDrop>(in, s, gradient, drop, terms, first, count);
  }
}

void AddNormBackward(const AddNorm& in, ConstRows s, const float* mean, const float* rstd, const AddNormGradient& gradient) {
  in.dropout.active() ? backward_rows<true>(in, s, mean, rstd, gradient) : backward_rows<false>(in, s, mean, rstd, gradient);
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {

HWY_EXPORT(AddNormForward);
HWY_EXPORT(AddNormBackward);

void add_norm_forward(const AddNorm& in, Rows s, Rows y, float* mean, float* rstd) {
  HWY_DYNAMIC_DISPATCH(AddNormForward)(in, s, y, mean, rstd);
}
void add_norm_backward(const AddNorm& in, ConstRows s, const float* mean, const float* rstd, const AddNormGradient& gradient) {
  HWY_DYNAMIC_DISPATCH(AddNormBackward)(in, s, mean, rstd, gradient);
}

}  // namespace jumok::kernels
#endif  // HWY_ONCE
