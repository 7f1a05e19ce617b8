// Scores of a few queries, as in a step of decoding: each key is read once, so it is turned in registers and not packed. Once per Highway
// target. An element is the same chain of multiply-adds as in score_rows, so its bits are too.
#if defined(JUMOK_KERNELS_ATTENTION_STEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef JUMOK_KERNELS_ATTENTION_STEP_INL_H_
#undef JUMOK_KERNELS_ATTENTION_STEP_INL_H_
#else
#define JUMOK_KERNELS_ATTENTION_STEP_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/attention-tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns c … of kLanes keys times the R queries; acc[r] += q[r][c] · (column c of the keys).
template <int R>
HWY_INLINE void score_column(const float* const (&q)[R], int64_t c, Vec32 column, Vec32 (&acc)[R]) {
  for (int r = 0; r < R; ++r) acc[r] = hn::MulAdd(hn::Set(F32(), q[r][c]), column, acc[r]);
}

// As score_rows, with s.packed the keys themselves: key j at s.packed + j · s.stride.
template <int R>
HWY_INLINE void score_keys(const ScoreTask& s, int64_t keys) {
  const F32 d;
  const Vec32 scale = hn::Set(d, s.scale);
  const float* q[R];
  for (int r = 0; r < R; ++r) q[r] = s.q + r * s.q_stride;
  for (int64_t j = 0; j < keys; j += kLanes) {
    const float* key[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) key[lane] = s.packed + std::min(j + lane, keys - 1) * s.stride;
    Vec32 acc[R];
    for (int r = 0; r < R; ++r) acc[r] = s.resume ? hn::LoadU(d, s.e + r * s.e_stride + j) : hn::Zero(d);
    int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; c + 4 <= s.width; c += 4) {
      Vec32 columns[4];
      turn_four(key, c, columns);
      for (int i = 0; i < 4; ++i) score_column<R>(q, c + i, columns[i], acc);
    }
#endif
    for (; c < s.width; ++c) {
      HWY_ALIGN float column[kLanes];
      for (int64_t lane = 0; lane < kLanes; ++lane) column[lane] = key[lane][c];
      score_column<R>(q, c, hn::Load(d, column), acc);
    }
    for (int r = 0; r < R; ++r) hn::StoreU(hn::Mul(acc[r], scale), d, s.e + r * s.e_stride + j);
  }
}

// Rows [0, rows), at most kMaxRows, and keys [0, keys), rounded up to whole vectors: those past the end repeat the last key.
inline void score_step(const ScoreTask& s, int64_t rows, int64_t keys) {
  switch (rows) {
    case 1:
      return score_keys<1>(s, keys);
    case 2:
      return score_keys<2>(s, keys);
    case 3:
      return score_keys<3>(s, keys);
    case 4:
      return score_keys<4>(s, keys);
    case 5:
      return score_keys<5>(s, keys);
    default:
      return score_keys<6>(s, keys);
  }
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // JUMOK_KERNELS_ATTENTION_STEP_INL_H_
