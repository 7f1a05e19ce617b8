// Attention forward: for a block of queries, key tile by key tile, a running softmax (Milakov & Gimelshein 2018; Rabe & Staats 2021;
// Dao 2022, algorithm 1) over tiles whose borders depend on the key index alone.
#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention-rules-inl.h"
#include "kernels/attention-softmax-inl.h"
#include "kernels/attention-step-inl.h"
#include "kernels/attention-tile-inl.h"
#include "kernels/attention_head.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace {

// Queries that share one packed key tile, and whose running softmax stands on the stack: turning the keys is paid for by three query tiles.
constexpr int64_t kBlockQueries = 3 * kTileQueries;

struct ForwardTile {
  HWY_ALIGN float keys[kTileColumns * kTileKeys];     // K transposed, [columns, keys]
  HWY_ALIGN float values[kTileKeys * kTileColumns];   // V, [keys, columns]
  HWY_ALIGN float weights[kTileQueries * kTileKeys];  // scores, then weights
  HWY_ALIGN float max[kBlockQueries + kLanes], sum[kBlockQueries + kLanes];
  HWY_ALIGN float before[kTileQueries + kLanes], after[kTileQueries + kLanes];
  HWY_ALIGN float wide[kTileQueries * kTileColumns];  // rows of 16-bit storage, widened
  bool finite;                                        // the values of the key tile; known where pairs are blocked by rules
};

// scores of a few queries, whose keys no others of the block read.
void score_few(const AttentionHead& h, Range rows, Range keys, ForwardTile& tile) {
  ScoreTask task{nullptr, 0, nullptr, 0, 0, tile.weights, kTileKeys, 1.0f, false};
  for (int64_t c = 0; c < h.key_width; c += kTileColumns) {
    task.width = std::min(kTileColumns, h.key_width - c);
    const ConstRows q = f32_rows(h.q, rows.begin, rows.size(), c, task.width, tile.wide);
    const ConstRows k = f32_rows(h.k, keys.begin, keys.size(), c, task.width, tile.keys);
    task.q = q.data;
    task.q_stride = q.stride;
    task.packed = k.data;
    task.stride = k.stride;
    task.resume = c > 0;
    task.scale = c + kTileColumns >= h.key_width ? h.scale : 1.0f;
    score_step(task, rows.size(), std::min(h.limit(rows.end - 1), keys.end) - keys.begin);
  }
}

// scores of the queries `rows` with the keys `keys`, before the rules; wide heads in chunks of columns. The packed tile serves all query
// tiles of a block when one chunk holds the head: it is packed when `pack` says so.
void score_tile(const AttentionHead& h, Range rows, Range keys, bool pack, ForwardTile& tile) {
  ScoreTask task{nullptr, 0, tile.keys, round_up(keys.size(), kLanes), 0, tile.weights, kTileKeys, 1.0f, false};
  if (h.key_width == 0) std::memset(tile.weights, 0, sizeof tile.weights);
  if (pack && rows.size() <= kMaxRows) return score_few(h, rows, keys, tile);
  for (int64_t c = 0; c < h.key_width; c += kTileColumns) {
    task.width = std::min(kTileColumns, h.key_width - c);
    if (pack || h.key_width > kTileColumns) {
      const ConstRows k = f32_rows(h.k, keys.begin, keys.size(), c, task.width, tile.wide);
      pack_transposed(k.data, k.stride, keys.size(), task.width, tile.keys, task.stride);
    }
    const ConstRows q = f32_rows(h.q, rows.begin, rows.size(), c, task.width, tile.wide);
    task.q = q.data;
    task.q_stride = q.stride;
    task.resume = c > 0;
    task.scale = c + kTileColumns >= h.key_width ? h.scale : 1.0f;
    for (int64_t r = 0, n; r < rows.size(); r += n) {
      n = next_rows(rows.size() - r);
      const int64_t seen = std::min(h.limit(rows.begin + r + n - 1), keys.end) - keys.begin;
      score_rows(task, r, static_cast<int>(n), seen);
    }
  }
}

void rule_tile(const AttentionHead& h, Range rows, Range keys, ForwardTile& tile) {
  for (int64_t r = 0; r < rows.size(); ++r) {
    const int64_t i = rows.begin + r;
    rule_row(h, i, keys.begin, std::min(h.limit(i), keys.end) - keys.begin, tile.weights + r * kTileKeys);
  }
}

//   m' = max(m, max_j e_j);  w_j = exp(e_j - m');  sum' = sum · exp(m - m') + Σ_j w_j;  before = exp(m - m')
// max, sum: of the first of `rows`. `after` is what the mixed values are multiplied with: 1 until the row's last tile, then 1/sum.
// Not `resume`: the tile is every row's first.
void softmax_tile(const AttentionHead& h, Range rows, Range keys, bool resume, float* max, float* sum, ForwardTile& tile) {
  const F32 d;
  for (int64_t r = 0; r < rows.size(); ++r) {
    const int64_t n = std::min(h.limit(rows.begin + r), keys.end) - keys.begin;
    const float largest = row_max(tile.weights + r * kTileKeys, n);
    // A row whose scores all overflowed to -inf stays at weight 0: exp(-inf - 0).
    tile.after[r] = resume ? std::max(max[r], largest) : largest;
  }
  for (int64_t r = 0; resume && r < rows.size(); r += kLanes) {
    const Vec32 next = hn::LoadU(d, tile.after + r);
    const Vec32 base = hn::IfThenElseZero(hn::Gt(next, hn::Set(d, kMinusInfinity)), next);
    hn::StoreU(HWY_NAMESPACE::Exp(d, hn::Sub(hn::LoadU(d, max + r), base)), d, tile.before + r);
  }
  const float kept = dropout_scale(h);
  for (int64_t r = 0; r < rows.size(); ++r) {
    const int64_t limit = h.limit(rows.begin + r), n = std::min(limit, keys.end) - keys.begin;
    float* w = tile.weights + r * kTileKeys;
    max[r] = tile.after[r];
    const float base = max[r] == kMinusInfinity ? 0.0f : max[r];
    float tile_sum;
    if (h.dropout.active()) {
      const DropoutRow dropout(h, rows.begin + r, keys.begin);
      tile_sum = row_exp<true>(w, n, base, &dropout);
    } else {
      tile_sum = row_exp<false>(w, n, base, nullptr);
    }
    sum[r] = resume ? sum[r] * tile.before[r] + tile_sum : tile_sum;
    tile.after[r] = limit > keys.end ? 1.0f : sum[r] == 0.0f ? 0.0f : kept / sum[r];
  }
}

// out = (out · before + Σ_j w_j v_j) · after
void mix_tile(const AttentionHead& h, Range rows, Range keys, bool pack, bool resume, ForwardTile& tile, Rows out) {
  MixTask task{tile.weights, kTileKeys, nullptr, 0, nullptr, out.stride, 0, resume, tile.before, tile.after};
  for (int64_t c = 0; c < h.value_width; c += kTileColumns) {
    task.columns = std::min(kTileColumns, h.value_width - c);
    task.y = out.row(rows.begin) + c;
    // Decoding reads each value once: a copy would not pay.
    const bool in_place = h.v.f32() && rows.size() == 1 && task.columns % kLanes == 0;
    task.x = in_place ? h.v.row(keys.begin) + c : tile.values;
    task.x_stride = in_place ? h.v.stride : kTileColumns;
    if (!in_place && (pack || h.value_width > kTileColumns)) {
      load_rows(h.v, keys.begin, keys.size(), c, task.columns, tile.values);
    }
    if (!tile.finite) {
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

// A tile whose pairs are all blocked adds nothing. What its place asks for is still done: a row's first tile starts the running softmax,
// from nothing, and its last multiplies the mixed values.
void skip_tile(const AttentionHead& h, Range rows, Range keys, bool resume, float* max, float* sum, Rows out) {
  for (int64_t r = 0; r < rows.size(); ++r) {
    float* y = out.row(rows.begin + r);
    if (!resume) {
      max[r] = kMinusInfinity;
      sum[r] = 0;
      std::fill(y, y + h.value_width, 0.0f);
    }
    if (h.limit(rows.begin + r) > keys.end) continue;
    const float after = sum[r] == 0.0f ? 0.0f : dropout_scale(h) / sum[r];
    for (int64_t c = 0; c < h.value_width; ++c) y[c] *= after;
  }
}

void write_lse(Range block, const ForwardTile& tile, float* lse, int64_t lse_stride) {
  const F32 d;
  for (int64_t i = 0; i < block.size(); i += kLanes) {
    HWY_ALIGN float values[kLanes];
    hn::Store(log_sum_exp(d, hn::LoadU(d, tile.max + i), hn::LoadU(d, tile.sum + i)), d, values);
    for (int64_t lane = 0; lane < std::min(kLanes, block.size() - i); ++lane) lse[(block.begin + i + lane) * lse_stride] = values[lane];
  }
}

// Queries [block.begin, block.end), each of which has keys in its window. A row's first tile is the first of all where there is no window
// on the left; else rows of a block begin in different tiles, and all resume, from nothing.
void forward_block(const AttentionHead& h, Range block, Rows out, ForwardTile& tile) {
  const int64_t end = h.limit(block.end - 1);
  if (h.windowed()) {
    for (int64_t i = block.begin; i < block.end; ++i) std::fill(out.row(i), out.row(i) + h.value_width, 0.0f);
  }
  for (int64_t k = h.first(block.begin) / kTileKeys * kTileKeys; k < end; k += kTileKeys) {
    const Range keys{k, std::min(k + kTileKeys, end)};
    const bool resume = k > 0 || h.windowed();
    bool pack = true;
    const int64_t last = std::min(block.end, h.end_query_of(keys.end - 1));
    for (int64_t i = std::max(block.begin, h.first_query_of(k)), n; i < last; i += n) {
      n = next_rows(last - i, kTileQueries);
      const Range rows{i, i + n};
      const int64_t state = i - block.begin;
      if (tile_blocked(h, rows, keys)) {
        skip_tile(h, rows, keys, resume, tile.max + state, tile.sum + state, out);
        continue;
      }
      if (pack) tile.finite = !h.ruled() || rows_finite(h.v, keys, h.value_width);
      score_tile(h, rows, keys, pack, tile);
      if (h.ruled()) rule_tile(h, rows, keys, tile);
      softmax_tile(h, rows, keys, resume, tile.max + state, tile.sum + state, tile);
      mix_tile(h, rows, keys, pack, resume, tile, out);
      pack = false;
    }
  }
}

void forward_rows(const AttentionHead& h, Range rows, Rows out, float* lse, int64_t lse_stride) {
  const Range seeing{std::clamp(h.first_query(), rows.begin, rows.end), std::clamp(h.end_query(), rows.begin, rows.end)};
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    if (i == seeing.begin) i = seeing.end;
    if (i >= rows.end) break;
    std::fill(out.row(i), out.row(i) + h.value_width, 0.0f);
    if (lse) lse[i * lse_stride] = kMinusInfinity;
  }
  ForwardTile tile;
  for (int64_t i = seeing.begin; i < seeing.end; i += kBlockQueries) {
    const Range block{i, std::min(i + kBlockQueries, seeing.end)};
    // Lanes past the last row are computed and dropped; they must hold numbers all the same.
    std::fill(tile.sum, tile.sum + round_up(block.size(), kLanes), h.windowed() ? 0.0f : 1.0f);
    std::fill(tile.max, tile.max + round_up(block.size(), kLanes), h.windowed() ? kMinusInfinity : 0.0f);
    forward_block(h, block, out, tile);
    if (lse) write_lse(block, tile, lse, lse_stride);
  }
}

void forward(const Attention& in, Rows out, float* lse) {
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const AttentionHead h = attention_head(in, b, head);
      const int64_t begin = in.batch.query_begin[b];
      Rows head_out = out;
      head_out.data = out.row(begin) + head * h.value_width;
      forward_rows(h, {0, h.queries}, head_out, lse ? lse + begin * in.heads + head : nullptr, in.heads);
    }
  }
}

// ---- the weights themselves ----

// exp(w - largest) / Σ over the first n of a row that need not end on a whole vector. Blocked scores, -inf, stay so until the end, where
// they become 0: a sum that is NaN is none of theirs.
void normalise_row(float* w, int64_t n) {
  const F32 d;
  HWY_ALIGN float chunk[kLanes];
  float largest = kMinusInfinity;
  for (int64_t j = 0; j < n; ++j) largest = std::max(largest, w[j]);
  const float base = largest == kMinusInfinity ? 0.0f : largest;
  float sum = 0;
  for (int64_t j = 0; j < n; j += kLanes) {
    const int64_t m = std::min(kLanes, n - j);
    hn::Store(hn::Zero(d), d, chunk);
    std::memcpy(chunk, w + j, static_cast<size_t>(m) * sizeof(float));
    sum += row_exp<false>(chunk, m, base, nullptr);
    for (int64_t t = 0; t < m; ++t) w[j + t] = w[j + t] == kMinusInfinity ? kMinusInfinity : chunk[t];
  }
  const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (int64_t j = 0; j < n; ++j) w[j] = w[j] == kMinusInfinity ? 0.0f : w[j] * factor;
}

void weights(const AttentionHead& h, float* w, int64_t stride, bool scores) {
  const float blocked = scores ? kMinusInfinity : 0.0f;
  for (int64_t i = 0; i < h.queries; ++i) std::fill(w + i * stride, w + i * stride + h.keys, blocked);
  ForwardTile tile;
  const int64_t end = h.end_query();
  for (int64_t i = h.first_query(), n; i < end; i += n) {
    n = next_rows(end - i, kTileQueries);
    for (int64_t k = h.first(i) / kTileKeys * kTileKeys; k < h.limit(i + n - 1); k += kTileKeys) {
      const Range keys{k, std::min(k + kTileKeys, h.keys)};
      score_tile(h, {i, i + n}, keys, true, tile);
      for (int64_t r = 0; r < n; ++r) {
        const int64_t first = std::max(h.first(i + r), k), seen = std::min(h.limit(i + r), keys.end);
        if (first >= seen) continue;
        float* e = tile.weights + r * kTileKeys;
        if (h.ruled()) rule_row(h, i + r, k, seen - k, e);
        std::copy(e + (first - k), e + (seen - k), w + (i + r) * stride + first);
      }
    }
    for (int64_t r = i; r < i + n && !scores; ++r) normalise_row(w + r * stride + h.first(r), h.limit(r) - h.first(r));
  }
}

}  // namespace
void AttentionForward(const Attention& in, Rows out, float* lse) { forward(in, out, lse); }
void AttentionHeadForward(const AttentionHead& h, Range rows, Rows out, float* lse, int64_t lse_stride) {
  forward_rows(h, rows, out, lse, lse_stride);
}
void AttentionHeadWeights(const AttentionHead& h, float* w, int64_t stride, bool scores) { weights(h, w, stride, scores); }
}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {
HWY_EXPORT(AttentionForward);
HWY_EXPORT(AttentionHeadForward);
HWY_EXPORT(AttentionHeadWeights);

void attention_forward(const Attention& in, Rows out, float* lse) { HWY_DYNAMIC_DISPATCH(AttentionForward)(in, out, lse); }

void attention_head_forward(const AttentionHead& head, Range rows, Rows out, float* lse, int64_t lse_stride) {
  HWY_DYNAMIC_DISPATCH(AttentionHeadForward)(head, rows, out, lse, lse_stride);
}

void attention_head_weights(const AttentionHead& head, float* w, int64_t stride, bool scores) {
  HWY_DYNAMIC_DISPATCH(AttentionHeadWeights)(head, w, stride, scores);
}

void attention_weights(const Attention& in, int sentence, int head, float* weights) {
  const AttentionHead h = attention_head(in, sentence, head);
  attention_head_weights(h, weights, h.keys, false);
}

}  // namespace jumok::kernels
#endif
