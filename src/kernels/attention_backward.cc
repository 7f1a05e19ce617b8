// Attention backward (Dao 2022, algorithm 4): probabilities recomputed from the log-sum-exp, tile by tile.
//   P = exp(E - lse)   dP = dO V^T   dS = scale · P ∘ (M ∘ dP - D),  D_i = dO_i · O_i
//   dQ = dS K          dK = dS^T Q   dV = (P ∘ M)^T dO               M: dropout's factors
// Each element of dq sums over keys and each of dk, dv over queries in rising order, whatever the tiles.
#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention-rules-inl.h"
#include "kernels/attention-softmax-inl.h"
#include "kernels/attention-tile-inl.h"
#include "kernels/attention_head.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace {

// Scores and their gradients, 16 KB each, fill a 32 KB first-level cache; K, V and their transposed copies come from the second. In
// registers are the sums of one 6-row tile, as forward.
constexpr int64_t kBackwardQueries = 64;

// The parts of the workspace.
struct BackwardTile {
  float* keys;        // K transposed, [columns, keys]
  float* values;      // V transposed
  float* key_rows;    // K, [keys, columns]
  float* query_rows;  // Q or dO where they must be padded to whole vectors, [queries, columns]
  float* p;           // [queries, keys] scores, then P ∘ M
  float* ds;          // [queries, keys] dP, then dS
  float* wide;        // rows of 16-bit storage, widened
  float* delta;       // [T]
  bool keys_finite = true;
};
constexpr int64_t kPackFloats = kTileColumns * kTileKeys;
constexpr int64_t kSquareFloats = kBackwardQueries * kTileKeys;
constexpr int64_t kQueryFloats = kBackwardQueries * kTileColumns;
constexpr int64_t kFixedFloats = 3 * kPackFloats + 2 * kQueryFloats + 2 * kSquareFloats;

BackwardTile backward_tile(float* workspace) {
  BackwardTile t;
  t.keys = workspace;
  t.values = t.keys + kPackFloats;
  t.key_rows = t.values + kPackFloats;
  t.query_rows = t.key_rows + kPackFloats;
  t.p = t.query_rows + kQueryFloats;
  t.ds = t.p + kSquareFloats;
  t.wide = t.ds + kSquareFloats;
  t.delta = t.wide + kQueryFloats;
  return t;
}

// tile [rows, keys] = scale · a b^T for the rows of a and the keys of b; packed holds b transposed, chunk by chunk.
struct Product {
  HeadRows a, b;
  int64_t width;
  float scale;
  float* packed;
  float* tile;
};
void product_tile(const AttentionHead& h, const Product& p, Range rows, Range keys, bool pack, float* wide) {
  ScoreTask task{nullptr, 0, p.packed, round_up(keys.size(), kLanes), 0, p.tile, kTileKeys, 1.0f, false};
  if (p.width == 0) std::fill(p.tile, p.tile + kSquareFloats, 0.0f);
  for (int64_t c = 0; c < p.width; c += kTileColumns) {
    task.width = std::min(kTileColumns, p.width - c);
    if (pack || p.width > kTileColumns) {
      const ConstRows b = f32_rows(p.b, keys.begin, keys.size(), c, task.width, wide);
      pack_transposed(b.data, b.stride, keys.size(), task.width, p.packed, task.stride);
    }
    const ConstRows a = f32_rows(p.a, rows.begin, rows.size(), c, task.width, wide);
    task.q = a.data;
    task.q_stride = a.stride;
    task.resume = c > 0;
    task.scale = c + kTileColumns >= p.width ? p.scale : 1.0f;
    for (int64_t r = 0, n; r < rows.size(); r += n) {
      n = next_rows(rows.size() - r);
      score_rows(task, r, static_cast<int>(n), std::min(h.limit(rows.begin + r + n - 1), keys.end) - keys.begin);
    }
  }
}

// dbias_ij += ds_ij, then ds *= scale
void add_bias_gradient(const AttentionHead& h, const PairView<float>& dbias, int64_t i, int64_t key, int64_t n, float* ds) {
  float* to = dbias.at(i, key);
  if (dbias.key_stride == 1) {
    for (int64_t j = 0; j < n; ++j) to[j] += ds[j];
  } else {
    for (int64_t j = 0; j < n; ++j) to[j * dbias.key_stride] += ds[j];
  }
  for (int64_t j = 0; j < n; ++j) ds[j] *= h.scale;
}

void gradient_row(const AttentionHead& h, const RowGradient& row, int64_t i, Range keys, int64_t n, float* p, float* ds) {
  const bool ruled = h.ruled();
  if (ruled) rule_row(h, i, keys.begin, n, p);
  if (h.dropout.active()) {
    const DropoutRow dropout(h, i, keys.begin);
    ruled ? row_gradient<true, true>(p, ds, n, row, &dropout) : row_gradient<true, false>(p, ds, n, row, &dropout);
  } else {
    ruled ? row_gradient<false, true>(p, ds, n, row, nullptr) : row_gradient<false, false>(p, ds, n, row, nullptr);
  }
}

void gradient_tile(const AttentionHead& h, const HeadGradient& g, Range rows, Range keys, const BackwardTile& tile) {
  for (int64_t r = 0; r < rows.size(); ++r) {
    const int64_t i = rows.begin + r, n = std::min(h.limit(i), keys.end) - keys.begin;
    float *p = tile.p + r * kTileKeys, *ds = tile.ds + r * kTileKeys;
    const RowGradient row{g.lse[i * g.lse_stride], tile.delta[i], g.dbias ? 1.0f : h.scale, dropout_scale(h)};
    if (row.lse == kMinusInfinity) {  // every score overflowed to -inf or was blocked: weights 0
      std::fill(p, p + n, 0.0f);
      std::fill(ds, ds + n, 0.0f);
      continue;
    }
    gradient_row(h, row, i, keys, n, p, ds);
    if (g.dbias) add_bias_gradient(h, g.dbias, i, keys.begin, n, ds);
  }
}

// The tiles of these keys are not the first that dq gets something from.
bool adds_to_queries(const AttentionHead& h, const HeadGradient& g, Range keys) {
  return g.accumulate_queries || keys.begin > 0 || h.windowed();
}

// dq [rows] (+)= dS K
void query_gradient(const AttentionHead& h, const HeadGradient& g, Range rows, Range keys, bool pack, const BackwardTile& tile) {
  MixTask task{tile.ds, kTileKeys, tile.key_rows, kTileColumns, nullptr, g.dq.stride, 0, adds_to_queries(h, g, keys), nullptr, nullptr};
  for (int64_t c = 0; c < h.key_width; c += kTileColumns) {
    task.columns = std::min(kTileColumns, h.key_width - c);
    task.y = g.dq.row(rows.begin) + c;
    if (pack || h.key_width > kTileColumns) {
      load_rows(h.k, keys.begin, keys.size(), c, task.columns, tile.key_rows);
    }
    if (!tile.keys_finite) {
      for (int64_t r = 0; r < rows.size(); ++r) {
        mix_allowed<false>(task, r, keys.size(), [&](int64_t t) { return h.allowed(rows.begin + r, keys.begin + t); });
      }
      continue;
    }
    for (int64_t r = 0, n; r < rows.size(); r += n) {
      n = next_rows(rows.size() - r);
      const int64_t first = std::min(h.limit(rows.begin + r), keys.end) - keys.begin;
      const int64_t last = std::min(h.limit(rows.begin + r + n - 1), keys.end) - keys.begin;
      const int64_t begin = std::clamp<int64_t>(h.first(rows.begin + r) - keys.begin, 0, first);
      mix_rows<false>(task, r, static_cast<int>(n), {begin, begin, first, last, 0});
    }
  }
}

// y [keys] (+)= weights^T x, over the queries `rows`: dK from dS and Q, dV from P ∘ M and dO.
struct Transposed {
  const float* weights;  // [queries, keys] tile
  HeadRows x;
  int64_t width;
  Rows y;
  bool resume;
};

// The steps of keys [j, j + n) of a tile: key j + r is seen by the queries from first_query_of(...) on, one more key with each query.
// Weights of queries past a key's window are 0.
Steps key_steps(const AttentionHead& h, Range rows, Range keys, int64_t j, int64_t n) {
  const auto step = [&](int64_t query) { return std::clamp<int64_t>(query - rows.begin, 0, rows.size()); };
  const int64_t key = keys.begin + j;
  const int64_t end = step(h.end_query_of(key + n - 1));
  const int64_t begin = std::min(step(h.first_query_of(key)), end), dense = std::min(step(h.first_query_of(key + n - 1)), end);
  return {begin, dense, end, end, key - h.ahead - h.offset - rows.begin};
}

void key_gradient(const AttentionHead& h, const Transposed& p, Range rows, Range keys, const BackwardTile& tile) {
  MixTask task{p.weights, kTileKeys, nullptr, 0, nullptr, p.y.stride, 0, p.resume, nullptr, nullptr};
  const bool finite = !h.ruled() || rows_finite(p.x, rows, p.width);
  for (int64_t c = 0; c < p.width; c += kTileColumns) {
    task.columns = std::min(kTileColumns, p.width - c);
    ConstRows x = f32_rows(p.x, rows.begin, rows.size(), c, task.columns, tile.wide);
    task.y = p.y.row(keys.begin) + c;
    if (task.columns % kLanes != 0) {
      pack_rows(x.data, x.stride, rows.size(), task.columns, tile.query_rows, kTileColumns);
      x = {tile.query_rows, rows.size(), task.columns, kTileColumns};
    }
    task.x = x.data;
    task.x_stride = x.stride;
    if (!finite) {
      for (int64_t j = 0; j < keys.size(); ++j) {
        mix_allowed<true>(task, j, rows.size(), [&](int64_t t) { return h.allowed(rows.begin + t, keys.begin + j); });
      }
      continue;
    }
    for (int64_t j = 0, n; j < keys.size(); j += n) {
      n = next_rows(keys.size() - j);
      mix_rows<true>(task, j, static_cast<int>(n), key_steps(h, rows, keys, j, n));
    }
  }
}

void clear_rows(const Rows& m, Range rows, int64_t width) {
  for (int64_t r = rows.begin; r < rows.end; ++r) std::fill(m.row(r), m.row(r) + width, 0.0f);
}

// D_i = dout_i · out_i
void write_delta(const AttentionHead& h, const HeadGradient& g, float* delta) {
  const F32 d;
  const int64_t whole = h.value_width / kLanes * kLanes, end = h.end_query();
  for (int64_t i = h.first_query(); i < end; ++i) {
    const float *out = g.out.row(i), *dout = g.dout.row(i);
    Vec32 sum = hn::Zero(d);
    for (int64_t c = 0; c < whole; c += kLanes) sum = hn::MulAdd(hn::LoadU(d, out + c), hn::LoadU(d, dout + c), sum);
    delta[i] = hn::GetLane(hn::SumOfLanes(d, sum));
    for (int64_t c = whole; c < h.value_width; ++c) delta[i] += out[c] * dout[c];
  }
}

// The rows that no tile writes: queries that see nothing (under a window all queries, whose tiles then add), keys that nothing sees.
void clear_gradients(const AttentionHead& h, const HeadGradient& g) {
  if (!g.accumulate_queries) {
    clear_rows(g.dq, {0, h.windowed() ? h.queries : h.first_query()}, h.key_width);
    clear_rows(g.dq, {h.end_query(), h.queries}, h.key_width);
  }
}

void backward_keys(const AttentionHead& h, const HeadGradient& g, Range keys, BackwardTile& tile) {
  const HeadRows dout(g.dout.data, g.dout.stride);
  const int64_t end = std::min(h.end_query(), h.end_query_of(keys.end - 1));
  bool first = true;
  for (int64_t i = std::max(h.first_query(), h.first_query_of(keys.begin)), n; i < end; i += n) {
    n = next_rows(end - i, kBackwardQueries);
    const Range rows{i, i + n};
    if (tile_blocked(h, rows, keys)) {
      if (!adds_to_queries(h, g, keys)) clear_rows(g.dq, rows, h.key_width);
      continue;
    }
    if (first) tile.keys_finite = !h.ruled() || rows_finite(h.k, keys, h.key_width);
    product_tile(h, {h.q, h.k, h.key_width, h.scale, tile.keys, tile.p}, rows, keys, first, tile.wide);
    product_tile(h, {dout, h.v, h.value_width, 1.0f, tile.values, tile.ds}, rows, keys, first, tile.wide);
    gradient_tile(h, g, rows, keys, tile);
    query_gradient(h, g, rows, keys, first, tile);
    key_gradient(h, {tile.ds, h.q, h.key_width, g.dk, g.accumulate_keys || !first}, rows, keys, tile);
    key_gradient(h, {tile.p, dout, h.value_width, g.dv, g.accumulate_keys || !first}, rows, keys, tile);
    first = false;
  }
  if (first && !g.accumulate_keys) {
    clear_rows(g.dk, keys, h.key_width);
    clear_rows(g.dv, keys, h.value_width);
  }
}

void backward_head(const AttentionHead& h, const HeadGradient& g) {
  BackwardTile tile = backward_tile(g.workspace);
  clear_gradients(h, g);
  write_delta(h, g, tile.delta);
  for (int64_t j = 0; j < h.keys; j += kTileKeys) backward_keys(h, g, {j, std::min(j + kTileKeys, h.keys)}, tile);
}

template <class View>
View at(View m, int64_t row, int64_t column) {
  m.data += row * m.stride + column;
  return m;
}

void backward(const Attention& in, const AttentionGradient& g) {
  for (int b = 0; b < in.batch.sentences; ++b) {
    const int64_t query_begin = in.batch.query_begin[b], key_begin = in.batch.key_begin[b];
    for (int head = 0; head < in.heads; ++head) {
      const AttentionHead h = attention_head(in, b, head);
      const int64_t key_column = head * h.key_width, value_column = head * h.value_width;
      HeadGradient gradient{at(g.dq, query_begin, key_column), at(g.dk, key_begin, key_column), at(g.dv, key_begin, value_column),
                            at(g.out, query_begin, value_column), at(g.dout, query_begin, value_column)};
      gradient.lse = g.lse + query_begin * in.heads + head;
      gradient.lse_stride = in.heads;
      gradient.accumulate_queries = gradient.accumulate_keys = g.accumulate;
      gradient.workspace = g.workspace;
      backward_head(h, gradient);
    }
  }
}

}  // namespace
void AttentionBackward(const Attention& in, const AttentionGradient& g) { backward(in, g); }
void AttentionHeadBackward(const AttentionHead& h, const HeadGradient& g) { backward_head(h, g); }
int64_t AttentionBackwardFloats() { return kFixedFloats; }
}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {
HWY_EXPORT(AttentionBackward);
HWY_EXPORT(AttentionHeadBackward);
HWY_EXPORT(AttentionBackwardFloats);

int64_t attention_head_workspace(int64_t queries) { return HWY_DYNAMIC_DISPATCH(AttentionBackwardFloats)() + queries; }

int64_t attention_backward_workspace(const Attention& in) {
  int64_t longest = 0;
  for (int b = 0; b < in.batch.sentences; ++b) longest = std::max<int64_t>(longest, in.batch.query_length[b]);
  return attention_head_workspace(longest);
}

void attention_backward(const Attention& in, const AttentionGradient& gradient) { HWY_DYNAMIC_DISPATCH(AttentionBackward)(in, gradient); }

void attention_head_backward(const AttentionHead& head, const HeadGradient& gradient) {
  HWY_DYNAMIC_DISPATCH(AttentionHeadBackward)(head, gradient);
}

}  // namespace jumok::kernels
#endif
