// The two register-tiled products of attention, once per Highway target: scores (lanes are keys) and mix (lanes are columns).
// Each element is one chain of multiply-adds in rising index order, whatever the tile around it, so its bits depend on its own inputs
// alone.
#if defined(JUMOK_KERNELS_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef JUMOK_KERNELS_ATTENTION_TILE_INL_H_
#undef JUMOK_KERNELS_ATTENTION_TILE_INL_H_
#else
#define JUMOK_KERNELS_ATTENTION_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using Vec32 = hn::Vec<F32>;

constexpr int64_t kLanes = hn::MaxLanes(F32());
// Keys of a tile: fixed, so that the order of a row's sums depends on the key index alone. 64 keys × 64 columns of K and of V fill a 32 KB
// L1.
constexpr int64_t kTileKeys = 64;
// Queries of a tile: 16 register tiles of 6 rows, none of them shorter. Their scores, 24 KB, stay in the second-level cache beside q.
constexpr int64_t kTileQueries = 96;
constexpr int64_t kTileColumns = 64;  // wider heads go through the tile in chunks of columns
constexpr int kMaxRows = 6;           // × 2 vectors: 12 sums, 2 of the packed tile and one of q fill 16 registers but one

// Vectors per row of a register tile. Rows × vectors accumulators + vectors + 1 must fit the register file (16, or 32 with AVX-512 and
// NEON).
constexpr int max_vectors(int rows) {
#if HWY_ARCH_ARM_A64 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return rows == 1 ? 8 : 4;
#else
  return rows == 1 ? 8 : rows <= 3 ? 4 : 2;
#endif
}

constexpr int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// `remaining` rows are dealt to register tiles of like height: 13 = 5 + 4 + 4, not 6 + 6 + 1.
inline int next_rows(int64_t remaining, int64_t most = kMaxRows) {
  const int64_t tiles = (remaining + most - 1) / most;
  return static_cast<int>((remaining + tiles - 1) / tiles);
}

// ---- packing ----

#if HWY_TARGET != HWY_SCALAR
// Block b of the result is rows[4 b][c, c + 4).
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* const* rows, int64_t c) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return hn::LoadU(d, rows[0] + c);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, rows + hn::MaxLanes(d) / 2, c), load_blocks(half, rows, c));
  }
}

// Columns [c, c + 4) of kLanes rows become four vectors whose lanes are the rows.
HWY_INLINE void turn_four(const float* const* rows, int64_t c, Vec32* columns) {
  const F32 d;
  const hn::Repartition<double, F32> wide;
  const Vec32 a = load_blocks(d, rows, c), b = load_blocks(d, rows + 1, c);
  const Vec32 e = load_blocks(d, rows + 2, c), f = load_blocks(d, rows + 3, c);
  const auto ab01 = hn::BitCast(wide, hn::InterleaveLower(d, a, b)), ab23 = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
  const auto ef01 = hn::BitCast(wide, hn::InterleaveLower(d, e, f)), ef23 = hn::BitCast(wide, hn::InterleaveUpper(d, e, f));
  columns[0] = hn::BitCast(d, hn::InterleaveLower(wide, ab01, ef01));
  columns[1] = hn::BitCast(d, hn::InterleaveUpper(wide, ab01, ef01));
  columns[2] = hn::BitCast(d, hn::InterleaveLower(wide, ab23, ef23));
  columns[3] = hn::BitCast(d, hn::InterleaveUpper(wide, ab23, ef23));
}

HWY_INLINE void transpose_four(const float* const* rows, int64_t c, float* packed, int64_t stride) {
  const F32 d;
  Vec32 columns[4];
  turn_four(rows, c, columns);
  for (int i = 0; i < 4; ++i) hn::StoreU(columns[i], d, packed + i * stride);
}

#endif  // HWY_TARGET != HWY_SCALAR

// packed[c, j] = x[j, c] for `rows` rows; lanes past the last row repeat it (their scores are never used). packed [width, stride].
HWY_INLINE void pack_transposed(const float* x, int64_t x_stride, int64_t rows, int64_t width, float* packed, int64_t stride) {
  for (int64_t j = 0; j < rows; j += kLanes) {
    const float* from[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) from[lane] = x + std::min(j + lane, rows - 1) * x_stride;
    int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; c + 4 <= width; c += 4) transpose_four(from, c, packed + c * stride + j, stride);
#endif
    for (; c < width; ++c) {
      for (int64_t lane = 0; lane < kLanes; ++lane) packed[c * stride + j + lane] = from[lane][c];
    }
  }
}

// packed[j, c] = x[j, c], columns padded with zeros to whole vectors. packed [rows, stride].
HWY_INLINE void pack_rows(const float* x, int64_t x_stride, int64_t rows, int64_t width, float* packed, int64_t stride) {
  const F32 d;
  const int64_t whole = width / kLanes * kLanes;
  for (int64_t j = 0; j < rows; ++j, x += x_stride, packed += stride) {
    for (int64_t c = 0; c < whole; c += kLanes) hn::StoreU(hn::LoadU(d, x + c), d, packed + c);
    if (whole == width) continue;
    hn::StoreU(hn::Zero(d), d, packed + whole);
    std::memcpy(packed + whole, x + whole, static_cast<size_t>(width - whole) * sizeof(float));
  }
}

// ---- scores ----

//   e[r, j] = scale · ((resume ? e[r, j] : 0) + Σ_c q[r, c] packed[c, j])
struct ScoreTask {
  const float* q;  // [rows, width]
  int64_t q_stride;
  const float* packed;  // [width, stride]
  int64_t stride, width;
  float* e;  // [rows, e_stride]
  int64_t e_stride;
  float scale;
  bool resume;
};

template <int R, int NV>
HWY_INLINE void score_block(const ScoreTask& s, int64_t row, int64_t key) {
  const F32 d;
  Vec32 acc[R][NV];
  const float* q[R];
  float* e = s.e + row * s.e_stride + key;
  for (int r = 0; r < R; ++r) {
    q[r] = s.q + (row + r) * s.q_stride;
    for (int v = 0; v < NV; ++v) acc[r][v] = s.resume ? hn::LoadU(d, e + r * s.e_stride + v * kLanes) : hn::Zero(d);
  }
  const float* packed = s.packed + key;
  for (int64_t c = 0; c < s.width; ++c, packed += s.stride) {
    Vec32 k[NV];
    for (int v = 0; v < NV; ++v) k[v] = hn::LoadU(d, packed + v * kLanes);
    for (int r = 0; r < R; ++r) {
      const Vec32 qc = hn::Set(d, q[r][c]);
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(qc, k[v], acc[r][v]);
    }
  }
  const Vec32 scale = hn::Set(d, s.scale);
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < NV; ++v) hn::StoreU(hn::Mul(acc[r][v], scale), d, e + r * s.e_stride + v * kLanes);
  }
}

template <int R, int NV>
HWY_INLINE void score_columns(const ScoreTask& s, int64_t row, int64_t key, int64_t end) {
  for (; key + NV * kLanes <= end; key += NV * kLanes) score_block<R, NV>(s, row, key);
  if constexpr (NV > 1) score_columns<R, NV / 2>(s, row, key, end);
}

// Scores of rows [row, row + rows) and keys [0, keys) (rounded up to whole vectors), rows <= kMaxRows.
inline void score_rows(const ScoreTask& s, int64_t row, int rows, int64_t keys) {
  const int64_t end = round_up(keys, kLanes);
  switch (rows) {
    case 1:
      return score_columns<1, max_vectors(1)>(s, row, 0, end);
    case 2:
      return score_columns<2, max_vectors(2)>(s, row, 0, end);
    case 3:
      return score_columns<3, max_vectors(3)>(s, row, 0, end);
    case 4:
      return score_columns<4, max_vectors(4)>(s, row, 0, end);
    case 5:
      return score_columns<5, max_vectors(5)>(s, row, 0, end);
    default:
      return score_columns<6, max_vectors(6)>(s, row, 0, end);
  }
}

// ---- mix ----

//   y[r, c] = ((resume ? before[r] · y[r, c] : 0) + Σ_t w[r, t] x[t, c]) · after[r]       before, after null: 1
// w is the tile [rows, w_stride], or its transpose: w[r, t] stands at w + t · w_stride + r.
struct MixTask {
  const float* w;
  int64_t w_stride;
  const float* x;  // [steps, columns rounded up to whole vectors]
  int64_t x_stride;
  float* y;  // [rows, columns]
  int64_t y_stride, columns;
  bool resume;
  const float *before, *after;  // [rows]
};

// Which steps a row takes part in. Under the causal rule the rows of a register tile see ranges whose one end moves by a step per row; the
// pairs outside are not multiplied at all, so that a NaN there reaches nothing.
struct Steps {
  int64_t begin, dense_begin, dense_end, end;
  int64_t origin;  // in [begin, dense_begin) step t is for rows r <= t - origin; in [dense_end, end) for rows r > t - dense_end
};

template <int R, int NV, bool kTransposed>
HWY_INLINE void mix_steps(const MixTask& m, int64_t row, int64_t column, const Steps& s, Vec32 (&acc)[R][NV]) {
  const F32 d;
  const int64_t row_step = kTransposed ? 1 : m.w_stride, step = kTransposed ? m.w_stride : 1;
  const float* w = m.w + row * row_step;
  const float* x = m.x + column;
  Vec32 xt[NV];
  for (int64_t t = s.begin; t < s.dense_begin; ++t) {
    for (int v = 0; v < NV; ++v) xt[v] = hn::LoadU(d, x + t * m.x_stride + v * kLanes);
    for (int r = 0; r < R; ++r) {
      if (r > t - s.origin) continue;
      const Vec32 wt = hn::Set(d, w[r * row_step + t * step]);
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(wt, xt[v], acc[r][v]);
    }
  }
  for (int64_t t = s.dense_begin; t < s.dense_end; ++t) {
    for (int v = 0; v < NV; ++v) xt[v] = hn::LoadU(d, x + t * m.x_stride + v * kLanes);
    for (int r = 0; r < R; ++r) {
      const Vec32 wt = hn::Set(d, w[r * row_step + t * step]);
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(wt, xt[v], acc[r][v]);
    }
  }
  for (int64_t t = s.dense_end; t < s.end; ++t) {
    for (int v = 0; v < NV; ++v) xt[v] = hn::LoadU(d, x + t * m.x_stride + v * kLanes);
    for (int r = 0; r < R; ++r) {
      if (r <= t - s.dense_end) continue;
      const Vec32 wt = hn::Set(d, w[r * row_step + t * step]);
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(wt, xt[v], acc[r][v]);
    }
  }
}

template <int R, int NV, bool kTransposed>
HWY_INLINE void mix_block(const MixTask& m, int64_t row, int64_t column, const Steps& s, float* y, int64_t y_stride) {
  const F32 d;
  Vec32 acc[R][NV];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < NV; ++v) acc[r][v] = m.resume ? hn::LoadU(d, y + r * y_stride + v * kLanes) : hn::Zero(d);
  }
  if (m.resume && m.before) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::Mul(acc[r][v], hn::Set(d, m.before[row + r]));
    }
  }
  mix_steps<R, NV, kTransposed>(m, row, column, s, acc);
  if (m.after) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::Mul(acc[r][v], hn::Set(d, m.after[row + r]));
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < NV; ++v) hn::StoreU(acc[r][v], d, y + r * y_stride + v * kLanes);
  }
}

// The columns past the last whole vector go through a small buffer: y has no room for a whole vector there.
template <int R, bool kTransposed>
HWY_INLINE void mix_last_columns(const MixTask& m, int64_t row, int64_t column, const Steps& s) {
  const size_t bytes = static_cast<size_t>(m.columns - column) * sizeof(float);
  float buffer[R * kLanes] = {};
  float* y = m.y + row * m.y_stride + column;
  for (int r = 0; m.resume && r < R; ++r) std::memcpy(buffer + r * kLanes, y + r * m.y_stride, bytes);
  mix_block<R, 1, kTransposed>(m, row, column, s, buffer, kLanes);
  for (int r = 0; r < R; ++r) std::memcpy(y + r * m.y_stride, buffer + r * kLanes, bytes);
}

template <int R, int NV, bool kTransposed>
HWY_INLINE void mix_columns(const MixTask& m, int64_t row, int64_t column, const Steps& s) {
  for (; column + NV * kLanes <= m.columns; column += NV * kLanes) {
    mix_block<R, NV, kTransposed>(m, row, column, s, m.y + row * m.y_stride + column, m.y_stride);
  }
  if constexpr (NV > 1) {
    mix_columns<R, NV / 2, kTransposed>(m, row, column, s);
  } else if (column < m.columns) {
    mix_last_columns<R, kTransposed>(m, row, column, s);
  }
}

// All columns of rows [row, row + rows), rows <= kMaxRows.
template <bool kTransposed>
inline void mix_rows(const MixTask& m, int64_t row, int rows, const Steps& s) {
  switch (rows) {
    case 1:
      return mix_columns<1, max_vectors(1), kTransposed>(m, row, 0, s);
    case 2:
      return mix_columns<2, max_vectors(2), kTransposed>(m, row, 0, s);
    case 3:
      return mix_columns<3, max_vectors(3), kTransposed>(m, row, 0, s);
    case 4:
      return mix_columns<4, max_vectors(4), kTransposed>(m, row, 0, s);
    case 5:
      return mix_columns<5, max_vectors(5), kTransposed>(m, row, 0, s);
    default:
      return mix_columns<6, max_vectors(6), kTransposed>(m, row, 0, s);
  }
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // JUMOK_KERNELS_ATTENTION_TILE_INL_H_
