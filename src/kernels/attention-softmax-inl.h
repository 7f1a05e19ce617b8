// The elementwise middle of attention on one row of a tile: largest score, exponentials and their sum, dropout. Once per Highway target.
#if defined(JUMOK_KERNELS_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef JUMOK_KERNELS_ATTENTION_SOFTMAX_INL_H_
#undef JUMOK_KERNELS_ATTENTION_SOFTMAX_INL_H_
#else
#define JUMOK_KERNELS_ATTENTION_SOFTMAX_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "kernels/attention_head.h"
#include "kernels/dropout-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Which weights of one row survive: the vector form of dropout_bits().
struct DropoutRow {
  uint32_t seed = 0, column = 0, threshold = 0;  // column: of the tile's first key

  DropoutRow(const AttentionHead& h, int64_t query, int64_t key)
      : seed(dropout_row_seed(h.dropout.row_keys[query], h.dropout.site)),
        column(h.first_column + static_cast<uint32_t>(key)),
        threshold(keep_threshold(h.dropout.rate)) {}

  // All ones where key j + lane of the tile is dropped.
  template <class D>
  HWY_INLINE hn::Mask<D> dropped(D d, int64_t j) const {
    const hn::RebindToUnsigned<D> du;
    const auto columns = hn::Iota(du, column + static_cast<uint32_t>(j));
    const auto x = LowBias32(du, hn::Add(hn::Mul(columns, hn::Set(du, 0x9e3779b9U)), hn::Set(du, seed)));
    return hn::RebindMask(d, hn::Lt(x, hn::Set(du, threshold)));
  }
};

inline float dropout_scale(const AttentionHead& h) { return h.dropout.active() ? 1.0f / (1.0f - h.dropout.rate) : 1.0f; }

// max_j e[j] over the first n; the row has room for whole vectors.
HWY_INLINE float row_max(const float* e, int64_t n) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto largest = hn::Set(d, kMinusInfinity);
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) largest = hn::Max(largest, hn::LoadU(d, e + j));
  if (j < n) {
    const auto seen = hn::FirstN(d, static_cast<size_t>(n - j));
    largest = hn::Max(largest, hn::IfThenElse(seen, hn::LoadU(d, e + j), hn::Set(d, kMinusInfinity)));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// e[j] = exp(e[j] - largest) over the first n, their sum returned: lane sums in rising j, then one fixed tree, so it depends on nothing
// but the row. Dropped weights count in the sum and are then set to 0.
template <bool kDropout>
HWY_INLINE float row_exp(float* e, int64_t n, float largest, const DropoutRow* dropout) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto base = hn::Set(d, largest);
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < n; j += lanes) {
    auto p = HWY_NAMESPACE::Exp(d, hn::Sub(hn::LoadU(d, e + j), base));
    if (j + lanes > n) p = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n - j)), p);
    sum = hn::Add(sum, p);
    if constexpr (kDropout) p = hn::IfThenZeroElse(dropout->dropped(d, j), p);
    hn::StoreU(p, d, e + j);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// max + log(sum) of many rows at once; -inf where the sum is 0, NaN where it is NaN (Log knows neither).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_sum_exp(D d, V max, V sum) {
  const V rest = hn::IfThenElse(hn::Eq(sum, sum), hn::Set(d, kMinusInfinity), sum);
  return hn::IfThenElse(hn::Gt(sum, hn::Zero(d)), hn::Add(max, hn::Log(d, sum)), rest);
}

// Backward, over the first n keys of a row:
//   p = exp(e - lse),  m = dropout's factor of the pair (0 or 1/(1 - rate))
//   e <- p m           what dv gets of dout
//   dp <- scale p (m dp - delta)       the gradient of q·k, for dq and dk
// kRules: where e is -inf the pair is blocked and both become 0, whatever dp is, and whatever lse: beside a NaN exp(-inf - lse) is one too.
struct RowGradient {
  float lse, delta, scale, kept;
};
template <bool kDropout, bool kRules>
HWY_INLINE void row_gradient(float* e, float* dp, int64_t n, const RowGradient& g, const DropoutRow* dropout) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto lse = hn::Set(d, g.lse), delta = hn::Set(d, g.delta), scale = hn::Set(d, g.scale);
  for (int64_t j = 0; j < n; j += lanes) {
    const auto score = hn::LoadU(d, e + j);
    auto p = HWY_NAMESPACE::Exp(d, hn::Sub(score, lse));
    if constexpr (kRules) p = hn::IfThenZeroElse(hn::Eq(score, hn::Set(d, kMinusInfinity)), p);
    auto change = hn::LoadU(d, dp + j);
    if constexpr (kDropout) {
      const auto m = hn::IfThenZeroElse(dropout->dropped(d, j), hn::Set(d, g.kept));
      hn::StoreU(hn::Mul(p, m), d, e + j);
      change = hn::MulSub(m, change, delta);
    } else {
      hn::StoreU(p, d, e + j);
      change = hn::Sub(change, delta);
    }
    auto ds = hn::Mul(hn::Mul(p, scale), change);
    if constexpr (kRules) ds = hn::IfThenZeroElse(hn::Eq(score, hn::Set(d, kMinusInfinity)), ds);
    hn::StoreU(ds, d, dp + j);
  }
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // JUMOK_KERNELS_ATTENTION_SOFTMAX_INL_H_
