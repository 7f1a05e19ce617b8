// Attention backward (Dao 2022, algorithm 4): probabilities recomputed from the log-sum-exp, tile by tile.
//   P = exp(E - lse)   dP = dO V^T   dS = scale · P ∘ (M ∘ dP - D),  D_i = dO_i · O_i
//   dQ = dS K          dK = dS^T Q   dV = (P ∘ M)^T dO               M: dropout's factors
// Each element of dq sums over keys and each of dk, dv over queries in rising order, whatever the tiles.
#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention-head-inl.h"
#include "kernels/attention-softmax-inl.h"
#include "kernels/attention-tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kBackwardQueries = 64;

// The parts of the workspace.
struct BackwardTile {
  float* keys;        // K transposed, [columns, keys]
  float* values;      // V transposed
  float* key_rows;    // K, [keys, columns]
  float* query_rows;  // Q or dO where they must be padded to whole vectors, [queries, columns]
  float* p;           // [queries, keys] scores, then P ∘ M
  float* ds;          // [queries, keys] dP, then dS
  float* delta;       // [T]
};
constexpr int64_t kPackFloats = kTileColumns * kTileKeys;
constexpr int64_t kSquareFloats = kBackwardQueries * kTileKeys;
constexpr int64_t kQueryFloats = kBackwardQueries * kTileColumns;
constexpr int64_t kFixedFloats = 3 * kPackFloats + kQueryFloats + 2 * kSquareFloats;

BackwardTile backward_tile(float* workspace) {
  BackwardTile t;
  t.keys = workspace;
  t.values = t.keys + kPackFloats;
  t.key_rows = t.values + kPackFloats;
  t.query_rows = t.key_rows + kPackFloats;
  t.p = t.query_rows + kQueryFloats;
  t.ds = t.p + kSquareFloats;
  t.delta = t.ds + kSquareFloats;
  return t;
}

// A view at the first row of a sentence and the first column of a head.
struct HeadGradient {
  Rows dq, dk, dv;
  ConstRows out, dout;
  const float* lse;
  int heads;
  bool accumulate;
};

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// tile [rows, keys] = scale · a b^T for the rows of a and the keys of b; packed holds b transposed, chunk by chunk.
struct Product {
  ConstRows a, b;
  int64_t width;
  float scale;
  float* packed;
  float* tile;
};
void product_tile(const AttentionHead& h, const Product& p, Range rows, Range keys, bool pack) {
  ScoreTask task{nullptr, p.a.stride, p.packed, round_up(keys.size(), kLanes), 0, p.tile, kTileKeys, 1.0f, false};
  if (p.width == 0) std::fill(p.tile, p.tile + kSquareFloats, 0.0f);
  for (int64_t c = 0; c < p.width; c += kTileColumns) {
    task.width = std::min(kTileColumns, p.width - c);
    if (pack || p.width > kTileColumns) {
      pack_transposed(p.b.row(keys.begin) + c, p.b.stride, keys.size(), task.width, p.packed, task.stride);
    }
    task.q = p.a.row(rows.begin) + c;
    task.resume = c > 0;
    task.scale = c + kTileColumns >= p.width ? p.scale : 1.0f;
    for (int64_t r = 0, n; r < rows.size(); r += n) {
      n = next_rows(rows.size() - r);
      score_rows(task, r, static_cast<int>(n), std::min(h.limit(rows.begin + r + n - 1), keys.end) - keys.begin);
    }
  }
}

void gradient_tile(const AttentionHead& h, const HeadGradient& g, Range rows, Range keys, const BackwardTile& tile) {
  for (int64_t r = 0; r < rows.size(); ++r) {
    const int64_t i = rows.begin + r, n = std::min(h.limit(i), keys.end) - keys.begin;
    float *p = tile.p + r * kTileKeys, *ds = tile.ds + r * kTileKeys;
    const RowGradient row{g.lse[i * g.heads], tile.delta[i], h.scale, dropout_scale(h)};
    if (row.lse == kMinusInfinity) {  // every score overflowed to -inf: weights 0
      std::fill(p, p + n, 0.0f);
      std::fill(ds, ds + n, 0.0f);
    } else if (h.dropout.active()) {
      const DropoutRow dropout(h, i, keys.begin);
      row_gradient<true>(p, ds, n, row, &dropout);
    } else {
      row_gradient<false>(p, ds, n, row, nullptr);
    }
  }
}

// dq [rows] (+)= dS K
void query_gradient(const AttentionHead& h, const HeadGradient& g, Range rows, Range keys, bool pack, const BackwardTile& tile) {
  MixTask task{tile.ds, kTileKeys, tile.key_rows, kTileColumns, nullptr, g.dq.stride, 0, g.accumulate || keys.begin > 0, nullptr, nullptr};
  for (int64_t c = 0; c < h.key_width; c += kTileColumns) {
    task.columns = std::min(kTileColumns, h.key_width - c);
    task.y = g.dq.row(rows.begin) + c;
    if (pack || h.key_width > kTileColumns) {
      pack_rows(h.k + keys.begin * h.k_stride + c, h.k_stride, keys.size(), task.columns, tile.key_rows, kTileColumns);
    }
    for (int64_t r = 0, n; r < rows.size(); r += n) {
      n = next_rows(rows.size() - r);
      const int64_t first = std::min(h.limit(rows.begin + r), keys.end) - keys.begin;
      const int64_t last = std::min(h.limit(rows.begin + r + n - 1), keys.end) - keys.begin;
      mix_rows<false>(task, r, static_cast<int>(n), {0, 0, first, last, 0});
    }
  }
}

// y [keys] (+)= weights^T x, over the queries `rows`: dK from dS and Q, dV from P ∘ M and dO.
struct Transposed {
  const float* weights;  // [queries, keys] tile
  ConstRows x;           // of the sentence and head
  int64_t width;
  Rows y;
  bool resume;
};
void key_gradient(const AttentionHead& h, const Transposed& p, Range rows, Range keys, const BackwardTile& tile) {
  MixTask task{p.weights, kTileKeys, nullptr, 0, nullptr, p.y.stride, 0, p.resume, nullptr, nullptr};
  for (int64_t c = 0; c < p.width; c += kTileColumns) {
    task.columns = std::min(kTileColumns, p.width - c);
    task.x = p.x.row(rows.begin) + c;
    task.x_stride = p.x.stride;
    task.y = p.y.row(keys.begin) + c;
    if (task.columns % kLanes != 0) {
      pack_rows(task.x, task.x_stride, rows.size(), task.columns, tile.query_rows, kTileColumns);
      task.x = tile.query_rows;
      task.x_stride = kTileColumns;
    }
    for (int64_t j = 0, n; j < keys.size(); j += n) {
      n = next_rows(keys.size() - j);
      // Key j + r of the register tile is seen by the queries from first_query_of(...) on: one more key with each query.
      const auto step = [&](int64_t query) HWY_ATTR { return std::clamp<int64_t>(query - rows.begin, 0, rows.size()); };
      const int64_t begin = step(h.first_query_of(keys.begin + j)), dense = step(h.first_query_of(keys.begin + j + n - 1));
      const int64_t origin = keys.begin + j - (h.keys - h.queries) - rows.begin;
      mix_rows<true>(task, j, static_cast<int>(n), {begin, dense, rows.size(), rows.size(), origin});
    }
  }
}

// Moves to the first row that sees a key; the ones before get gradient 0, and so do all keys when there is no such query.
void blocked_gradients(const AttentionHead& h, const HeadGradient& g) {
  if (g.accumulate) return;
  for (int64_t i = 0; i < h.first_query(); ++i) std::fill(g.dq.row(i), g.dq.row(i) + h.key_width, 0.0f);
  if (h.first_query() < h.queries) return;
  for (int64_t j = 0; j < h.keys; ++j) {
    std::fill(g.dk.row(j), g.dk.row(j) + h.key_width, 0.0f);
    std::fill(g.dv.row(j), g.dv.row(j) + h.value_width, 0.0f);
  }
}

// D_i = dout_i · out_i
void write_delta(const AttentionHead& h, const HeadGradient& g, float* delta) {
  const F32 d;
  const int64_t whole = h.value_width / kLanes * kLanes;
  for (int64_t i = h.first_query(); i < h.queries; ++i) {
    const float *out = g.out.row(i), *dout = g.dout.row(i);
    Vec32 sum = hn::Zero(d);
    for (int64_t c = 0; c < whole; c += kLanes) sum = hn::MulAdd(hn::LoadU(d, out + c), hn::LoadU(d, dout + c), sum);
    delta[i] = hn::GetLane(hn::SumOfLanes(d, sum));
    for (int64_t c = whole; c < h.value_width; ++c) delta[i] += out[c] * dout[c];
  }
}

void backward_head(const AttentionHead& h, const HeadGradient& g, const BackwardTile& tile) {
  blocked_gradients(h, g);
  write_delta(h, g, tile.delta);
  const ConstRows q(h.q, h.queries, h.key_width, h.q_stride), k(h.k, h.keys, h.key_width, h.k_stride);
  const ConstRows v(h.v, h.keys, h.value_width, h.v_stride);
  for (int64_t j = 0; j < h.keys; j += kTileKeys) {
    const Range keys{j, std::min(j + kTileKeys, h.keys)};
    bool first = true;
    for (int64_t i = h.first_query_of(j), n; i < h.queries; i += n) {
      n = next_rows(h.queries - i, kBackwardQueries);
      const Range rows{i, i + n};
      product_tile(h, {q, k, h.key_width, h.scale, tile.keys, tile.p}, rows, keys, first);
      product_tile(h, {g.dout, v, h.value_width, 1.0f, tile.values, tile.ds}, rows, keys, first);
      gradient_tile(h, g, rows, keys, tile);
      query_gradient(h, g, rows, keys, first, tile);
      key_gradient(h, {tile.ds, q, h.key_width, g.dk, g.accumulate || !first}, rows, keys, tile);
      key_gradient(h, {tile.p, g.dout, h.value_width, g.dv, g.accumulate || !first}, rows, keys, tile);
      first = false;
    }
  }
}

template <class View>
View at(View m, int64_t row, int64_t column) {
  m.data += row * m.stride + column;
  return m;
}

void backward(const Attention& in, const AttentionGradient& g) {
  const BackwardTile tile = backward_tile(g.workspace);
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const AttentionHead h = attention_head(in, b, head);
      const int64_t key_column = head * h.key_width, value_column = head * h.value_width;
      const HeadGradient gradient{at(g.dq, h.query_begin, key_column),
                                  at(g.dk, h.key_begin, key_column),
                                  at(g.dv, h.key_begin, value_column),
                                  at(g.out, h.query_begin, value_column),
                                  at(g.dout, h.query_begin, value_column),
                                  g.lse + h.query_begin * in.heads + head,
                                  in.heads,
                                  g.accumulate};
      backward_head(h, gradient, tile);
    }
  }
}

}  // namespace
void AttentionBackward(const Attention& in, const AttentionGradient& g) { backward(in, g); }
int64_t AttentionBackwardFloats() { return kFixedFloats; }
}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {
HWY_EXPORT(AttentionBackward);
HWY_EXPORT(AttentionBackwardFloats);

int64_t attention_backward_workspace(const Attention& in) {
  int64_t longest = 0;
  for (int b = 0; b < in.batch.sentences; ++b) longest = std::max<int64_t>(longest, in.batch.query_length[b]);
  return HWY_DYNAMIC_DISPATCH(AttentionBackwardFloats)() + longest;
}

void attention_backward(const Attention& in, const AttentionGradient& gradient) { HWY_DYNAMIC_DISPATCH(AttentionBackward)(in, gradient); }

}  // namespace jumok::kernels
#endif
