// What the rules do inside a tile: rows of any storage, a row of scores under mask, bias and window, and the exact path for blocked numbers
// that are not finite. Once per Highway target.
#if defined(JUMOK_KERNELS_ATTENTION_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef JUMOK_KERNELS_ATTENTION_RULES_INL_H_
#undef JUMOK_KERNELS_ATTENTION_RULES_INL_H_
#else
#define JUMOK_KERNELS_ATTENTION_RULES_INL_H_
#endif

#include <hwy/highway.h>

#include "base/half.h"
#include "kernels/attention-softmax-inl.h"
#include "kernels/attention-tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- rows of any storage ----

#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)) || HWY_ARCH_ARM
#define JUMOK_F16_INSTRUCTION 1
#else
#define JUMOK_F16_INSTRUCTION 0
#endif

// kLanes numbers of binary16. Without an instruction for it Highway takes the largest exponent, of infinities and NaN, for one like others.
HWY_INLINE Vec32 widen_f16(const uint16_t* from) {
  const F32 d;
  const hn::Rebind<hwy::float16_t, F32> d16;
  const Vec32 wide = hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
#if JUMOK_F16_INSTRUCTION
  return wide;
#else
  const hn::RebindToUnsigned<F32> du;
  const auto bits = hn::PromoteTo(du, hn::LoadU(hn::Rebind<uint16_t, F32>(), from));
  const auto largest = hn::Set(du, 0x7c00u);
  const auto special = hn::Or(hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x03ffu))), hn::Set(du, 0x7f800000u));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  return hn::IfThenElse(hn::RebindMask(d, hn::Eq(hn::And(bits, largest), largest)), hn::BitCast(d, hn::Or(sign, special)), wide);
#endif
}
#undef JUMOK_F16_INSTRUCTION

HWY_INLINE void widen_row(const uint16_t* from, Storage storage, int64_t n, float* to) {
  const F32 d;
  int64_t c = 0;
  if (storage == Storage::kF16) {
    for (; c + kLanes <= n; c += kLanes) hn::StoreU(widen_f16(from + c), d, to + c);
    for (; c < n; ++c) to[c] = f16_to_f32(from[c]);
  } else {
    const hn::Rebind<uint16_t, F32> d16;
    const hn::RebindToUnsigned<F32> du;
    for (; c + kLanes <= n; c += kLanes) {
      hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d16, from + c)))), d, to + c);
    }
    for (; c < n; ++c) to[c] = bf16_to_f32(from[c]);
  }
}

// Columns [column, column + width) of rows [begin, begin + count) as f32, width <= kTileColumns: in place, or widened into `staging`
// [count, kTileColumns].
HWY_INLINE ConstRows f32_rows(const HeadRows& x, int64_t begin, int64_t count, int64_t column, int64_t width, float* staging) {
  if (x.f32()) return {x.row(begin) + column, count, width, x.stride};
  for (int64_t r = 0; r < count; ++r) widen_row(x.half_row(begin + r) + column, x.storage, width, staging + r * kTileColumns);
  return {staging, count, width, kTileColumns};
}

// The same copied into `to` [count, kTileColumns], columns padded with zeros to whole vectors.
HWY_INLINE void load_rows(const HeadRows& x, int64_t begin, int64_t count, int64_t column, int64_t width, float* to) {
  if (x.f32()) return pack_rows(x.row(begin) + column, x.stride, count, width, to, kTileColumns);
  for (int64_t r = 0; r < count; ++r) {
    float* row = to + r * kTileColumns;
    widen_row(x.half_row(begin + r) + column, x.storage, width, row);
    std::fill(row + width, row + round_up(width, kLanes), 0.0f);
  }
}

inline bool f32_finite(const float* x, int64_t n) {
  const F32 d;
  Vec32 sum = hn::Zero(d);  // x - x is 0, or NaN where x is not finite
  int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes) {
    const Vec32 v = hn::LoadU(d, x + c);
    sum = hn::Add(sum, hn::Sub(v, v));
  }
  bool finite = hn::AllTrue(d, hn::Eq(sum, sum));
  for (; c < n; ++c) finite = finite && x[c] - x[c] == 0.0f;
  return finite;
}

// No NaN and no infinity in rows [begin, end), columns [0, width).
inline bool rows_finite(const HeadRows& x, Range rows, int64_t width) {
  bool finite = true;
  const uint16_t exponent = x.storage == Storage::kF16 ? 0x7c00 : 0x7f80;
  for (int64_t r = rows.begin; r < rows.end && finite; ++r) {
    if (x.f32()) {
      finite = f32_finite(x.row(r), width);
    } else {
      for (int64_t c = 0; c < width; ++c) finite = finite && (x.half_row(r)[c] & exponent) != exponent;
    }
  }
  return finite;
}

// ---- a row of scores under the rules ----

// n <= kTileKeys values of row i from key j on, with room for whole vectors after them: in place where memory lies so, else in `buffer`.
template <typename T>
HWY_INLINE const T* pair_row(const PairView<const T>& view, int64_t i, int64_t j, int64_t n, T* buffer) {
  const T* from = view.at(i, j);
  if (view.key_stride == 1) {
    if (n % kLanes == 0) return from;
    std::memcpy(buffer, from, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t t = 0; t < n; ++t) buffer[t] = from[t * view.key_stride];
  }
  std::fill(buffer + n, buffer + round_up(n, kLanes), T{});
  return buffer;
}

//   e_j <- e_j + bias_j,  -inf where the bias is -inf or the mask is 0
template <bool kMask, bool kBias>
HWY_INLINE void rule_values(const uint8_t* mask, const float* bias, int64_t n, float* e) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<uint8_t, F32> d8;
  const Vec32 blocked = hn::Set(d, kMinusInfinity);
  for (int64_t j = 0; j < n; j += kLanes) {
    Vec32 x = hn::LoadU(d, e + j);
    if constexpr (kBias) {
      const Vec32 b = hn::LoadU(d, bias + j);
      x = hn::IfThenElse(hn::Eq(b, blocked), blocked, hn::Add(x, b));
    }
    if constexpr (kMask) {
      const auto m = hn::PromoteTo(di, hn::LoadU(d8, mask + j));
      x = hn::IfThenElse(hn::RebindMask(d, hn::Eq(m, hn::Zero(di))), blocked, x);
    }
    hn::StoreU(x, d, e + j);
  }
}

// Scores e of query i with the n keys from `key` on: bias added, blocked pairs -inf.
HWY_INLINE void rule_row(const AttentionHead& h, int64_t i, int64_t key, int64_t n, float* e) {
  uint8_t mask_buffer[kTileKeys];
  float bias_buffer[kTileKeys];
  const uint8_t* mask = h.mask ? pair_row(h.mask, i, key, n, mask_buffer) : nullptr;
  const float* bias = h.bias ? pair_row(h.bias, i, key, n, bias_buffer) : nullptr;
  if (mask && bias) {
    rule_values<true, true>(mask, bias, n, e);
  } else if (mask) {
    rule_values<true, false>(mask, bias, n, e);
  } else if (bias) {
    rule_values<false, true>(mask, bias, n, e);
  }
  const int64_t outside = h.first(i) - key;
  if (outside > 0) std::fill(e, e + std::min(outside, n), kMinusInfinity);
}

// ---- tiles in which mask or bias blocks every pair ----

template <typename T>
HWY_INLINE bool row_equal(const T* x, int64_t n, T value) {
  const hn::ScalableTag<T> d;
  const auto v = hn::Set(d, value);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    if (!hn::AllTrue(d, hn::Eq(hn::LoadU(d, x + j), v))) return false;
  }
  for (; j < n; ++j) {
    if (x[j] != value) return false;
  }
  return true;
}

template <typename T>
HWY_INLINE bool all_equal(const PairView<const T>& view, Range rows, Range keys, T value) {
  const int64_t last = view.stride == 0 ? std::min(rows.begin + 1, rows.end) : rows.end, n = keys.size();
  for (int64_t i = rows.begin; i < last; ++i) {
    const T* from = view.at(i, keys.begin);
    if (view.key_stride == 1) {
      if (!row_equal(from, n, value)) return false;
    } else {
      for (int64_t j = 0; j < n; ++j) {
        if (from[j * view.key_stride] != value) return false;
      }
    }
  }
  return true;
}

// A tile that the mask alone, or the bias alone, blocks whole: nothing of it is computed. Other tiles are told at their first row with an
// allowed pair, which costs next to nothing.
inline bool tile_blocked(const AttentionHead& h, Range rows, Range keys) {
  return (h.mask && all_equal<uint8_t>(h.mask, rows, keys, 0)) || (h.bias && all_equal(h.bias, rows, keys, kMinusInfinity));
}

// ---- the exact path ----

// Row r of a mix, over the steps t in [0, n) with allowed(t) alone: an infinity or NaN at another step is never multiplied, not even by 0.
// The sums are those of mix_rows, in the same order, so that their bits are too.
template <bool kTransposed, class Allowed>
void mix_allowed(MixTask task, int64_t r, int64_t n, const Allowed& allowed) {
  const float* after = task.after;
  task.after = nullptr;
  for (int64_t t = 0; t < n; ++t) {
    if (!allowed(t)) continue;
    const int64_t begin = t;
    while (t < n && allowed(t)) ++t;
    mix_rows<kTransposed>(task, r, 1, {begin, begin, t, t, 0});
    task.resume = true;
    task.before = nullptr;
  }
  task.after = after;
  mix_rows<kTransposed>(task, r, 1, {0, 0, 0, 0, 0});
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // JUMOK_KERNELS_ATTENTION_RULES_INL_H_
