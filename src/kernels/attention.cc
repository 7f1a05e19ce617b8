// Attention forward: for a block of queries, key tile by key tile, a running softmax (Milakov & Gimelshein 2018; Rabe & Staats 2021;
// Dao 2022, algorithm 1) over tiles whose borders depend on the key index alone.
#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention-head-inl.h"
#include "kernels/attention-softmax-inl.h"
#include "kernels/attention-tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace {

// Queries that share one packed key tile, and whose running softmax stands on the stack.
constexpr int64_t kBlockQueries = 3 * kTileQueries;

struct ForwardTile {
  HWY_ALIGN float keys[kTileColumns * kTileKeys];     // K transposed, [columns, keys]
  HWY_ALIGN float values[kTileKeys * kTileColumns];   // V, [keys, columns]
  HWY_ALIGN float weights[kTileQueries * kTileKeys];  // scores, then weights
  HWY_ALIGN float max[kBlockQueries + kLanes], sum[kBlockQueries + kLanes];
  HWY_ALIGN float before[kTileQueries + kLanes], after[kTileQueries + kLanes];
};

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// scores of the queries `rows` with the keys `keys`; wide heads in chunks of columns. The packed tile serves all query tiles of a block
// when one chunk holds the head: it is packed when `pack` says so.
void score_tile(const AttentionHead& h, Range rows, Range keys, bool pack, ForwardTile& tile) {
  ScoreTask task{nullptr, h.q_stride, tile.keys, round_up(keys.size(), kLanes), 0, tile.weights, kTileKeys, 1.0f, false};
  if (h.key_width == 0) std::memset(tile.weights, 0, sizeof tile.weights);
  for (int64_t c = 0; c < h.key_width; c += kTileColumns) {
    task.width = std::min(kTileColumns, h.key_width - c);
    if (pack || h.key_width > kTileColumns) {
      pack_transposed(h.k + keys.begin * h.k_stride + c, h.k_stride, keys.size(), task.width, tile.keys, task.stride);
    }
    task.q = h.q + rows.begin * h.q_stride + c;
    task.resume = c > 0;
    task.scale = c + kTileColumns >= h.key_width ? h.scale : 1.0f;
    for (int64_t r = 0, n; r < rows.size(); r += n) {
      n = next_rows(rows.size() - r);
      const int64_t seen = std::min(h.limit(rows.begin + r + n - 1), keys.end) - keys.begin;
      score_rows(task, r, static_cast<int>(n), seen);
    }
  }
}

//   m' = max(m, max_j e_j);  w_j = exp(e_j - m');  sum' = sum · exp(m - m') + Σ_j w_j;  before = exp(m - m')
// max, sum: of the first of `rows`. `after` is what the mixed values are multiplied with: 1 until the row's last tile, then 1/sum.
void softmax_tile(const AttentionHead& h, Range rows, Range keys, float* max, float* sum, ForwardTile& tile) {
  const F32 d;
  for (int64_t r = 0; r < rows.size(); ++r) {
    const int64_t n = std::min(h.limit(rows.begin + r), keys.end) - keys.begin;
    const float largest = row_max(tile.weights + r * kTileKeys, n);
    // A row whose scores all overflowed to -inf stays at weight 0: exp(-inf - 0).
    tile.after[r] = keys.begin > 0 ? std::max(max[r], largest) : largest;
  }
  for (int64_t r = 0; r < rows.size() && keys.begin > 0; r += kLanes) {
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
    sum[r] = keys.begin > 0 ? sum[r] * tile.before[r] + tile_sum : tile_sum;
    tile.after[r] = limit > keys.end ? 1.0f : sum[r] == 0.0f ? 0.0f : kept / sum[r];
  }
}

// out = (out · before + Σ_j w_j v_j) · after
void mix_tile(const AttentionHead& h, Range rows, Range keys, bool pack, ForwardTile& tile, Rows out) {
  MixTask task{tile.weights, kTileKeys, nullptr, 0, nullptr, out.stride, 0, keys.begin > 0, tile.before, tile.after};
  for (int64_t c = 0; c < h.value_width; c += kTileColumns) {
    task.columns = std::min(kTileColumns, h.value_width - c);
    task.y = out.row(rows.begin) + c;
    const float* v = h.v + keys.begin * h.v_stride + c;
    // Decoding reads each value once: a copy would not pay.
    const bool in_place = rows.size() == 1 && task.columns % kLanes == 0;
    task.x = in_place ? v : tile.values;
    task.x_stride = in_place ? h.v_stride : kTileColumns;
    if (!in_place && (pack || h.value_width > kTileColumns)) {
      pack_rows(v, h.v_stride, keys.size(), task.columns, tile.values, kTileColumns);
    }
    for (int64_t r = 0, n; r < rows.size(); r += n) {
      n = next_rows(rows.size() - r);
      const int64_t first = std::min(h.limit(rows.begin + r), keys.end) - keys.begin;
      const int64_t last = std::min(h.limit(rows.begin + r + n - 1), keys.end) - keys.begin;
      mix_rows<false>(task, r, static_cast<int>(n), {0, 0, first, last, 0});
    }
  }
}

void write_lse(const AttentionHead& h, Range block, const ForwardTile& tile, float* lse, int heads) {
  const F32 d;
  for (int64_t i = 0; i < block.size(); i += kLanes) {
    HWY_ALIGN float values[kLanes];
    hn::Store(log_sum_exp(d, hn::LoadU(d, tile.max + i), hn::LoadU(d, tile.sum + i)), d, values);
    for (int64_t lane = 0; lane < std::min(kLanes, block.size() - i); ++lane) {
      lse[(h.query_begin + block.begin + i + lane) * heads] = values[lane];
    }
  }
}

// Queries [block.begin, block.end), each of which sees a key. out: of the sentence and head.
void forward_block(const AttentionHead& h, Range block, Rows out, ForwardTile& tile) {
  const int64_t end = h.limit(block.end - 1);
  for (int64_t k = 0; k < end; k += kTileKeys) {
    const Range keys{k, std::min(k + kTileKeys, end)};
    bool pack = true;
    for (int64_t i = std::max(block.begin, h.first_query_of(k)), n; i < block.end; i += n) {
      n = next_rows(block.end - i, kTileQueries);
      const Range rows{i, i + n};
      const int64_t state = i - block.begin;
      score_tile(h, rows, keys, pack, tile);
      softmax_tile(h, rows, keys, tile.max + state, tile.sum + state, tile);
      mix_tile(h, rows, keys, pack, tile, out);
      pack = false;
    }
  }
}

// out, lse: at the first row of the sentence and the column of the head.
void forward_head(const AttentionHead& h, Rows out, float* lse, int heads) {
  const int64_t first = h.first_query();
  for (int64_t i = 0; i < first; ++i) {
    std::fill(out.row(i), out.row(i) + h.value_width, 0.0f);
    if (lse) lse[(h.query_begin + i) * heads] = kMinusInfinity;
  }
  ForwardTile tile;
  for (int64_t i = first; i < h.queries; i += kBlockQueries) {
    const Range block{i, std::min(i + kBlockQueries, h.queries)};
    // Lanes past the last row are computed and dropped; they must hold numbers all the same.
    std::fill(tile.sum, tile.sum + round_up(block.size(), kLanes), 1.0f);
    std::fill(tile.max, tile.max + round_up(block.size(), kLanes), 0.0f);
    forward_block(h, block, out, tile);
    if (lse) write_lse(h, block, tile, lse, heads);
  }
}

void forward(const Attention& in, Rows out, float* lse) {
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const AttentionHead h = attention_head(in, b, head);
      Rows head_out = out;
      head_out.data = out.row(h.query_begin) + head * h.value_width;
      forward_head(h, head_out, lse ? lse + head : nullptr, in.heads);
    }
  }
}

// ---- the weights themselves ----

// exp(w - largest) / Σ over the first n of a row that need not end on a whole vector.
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
    std::memcpy(w + j, chunk, static_cast<size_t>(m) * sizeof(float));
  }
  const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (int64_t j = 0; j < n; ++j) w[j] *= factor;
}

void weights(const Attention& in, int sentence, int head, float* w) {
  const AttentionHead h = attention_head(in, sentence, head);
  std::fill(w, w + h.queries * h.keys, 0.0f);
  ForwardTile tile;
  for (int64_t i = h.first_query(), n; i < h.queries; i += n) {
    n = next_rows(h.queries - i, kTileQueries);
    for (int64_t k = 0; k < h.limit(i + n - 1); k += kTileKeys) {
      const Range keys{k, std::min(k + kTileKeys, h.keys)};
      score_tile(h, {i, i + n}, keys, true, tile);
      for (int64_t r = 0; r < n; ++r) {
        const int64_t seen = std::clamp<int64_t>(h.limit(i + r) - k, 0, keys.size());
        std::copy_n(tile.weights + r * kTileKeys, seen, w + (i + r) * h.keys + k);
      }
    }
    for (int64_t r = i; r < i + n; ++r) normalise_row(w + r * h.keys, h.limit(r));
  }
}

}  // namespace
void AttentionForward(const Attention& in, Rows out, float* lse) { forward(in, out, lse); }
void AttentionWeights(const Attention& in, int sentence, int head, float* w) { weights(in, sentence, head, w); }
}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {
HWY_EXPORT(AttentionForward);
HWY_EXPORT(AttentionWeights);

void attention_forward(const Attention& in, Rows out, float* lse) { HWY_DYNAMIC_DISPATCH(AttentionForward)(in, out, lse); }

void attention_weights(const Attention& in, int sentence, int head, float* weights) {
  HWY_DYNAMIC_DISPATCH(AttentionWeights)(in, sentence, head, weights);
}

}  // namespace jumok::kernels
#endif
