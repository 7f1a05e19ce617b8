// Forward: a few queries at a time, chunk by chunk of their keys, with a running softmax (Milakov & Gimelshein 2018). Chunks start at the
// first key that a query sees, so a row's bits depend on nothing else. Under a mask or a bias a chunk holds the allowed keys of one query,
// one behind the other.
#include "kernels/row_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <limits>

#include "kernels/dropout-inl.h"
#include "kernels/row_attention-strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace {

constexpr float kBlocked = -std::numeric_limits<float>::infinity();
constexpr int64_t kChunkKeys = 256;

struct RunningSoftmax {
  float max = kBlocked, sum = 0;  // sum of exp(e - max)
};

// x times `factor`, a row of `width`
void scale_row(float* x, int64_t width, float factor) {
  const RowTag d;
  const RowVector f = hn::Set(d, factor);
  for_columns(d, width, [&](auto part, int64_t c) HWY_ATTR { part.store(d, hn::Mul(part.load(d, x + c), f), x + c); });
}

float largest(const float* e, int64_t n) {
  const RowTag d;
  RowVector most = hn::Set(d, kBlocked);
  for_columns(d, n, [&](auto part, int64_t j) HWY_ATTR { most = hn::Max(most, part.rest(d, part.load(d, e + j), most)); });
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

float exponential(float x) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(HWY_NAMESPACE::Exp(d, hn::Set(d, x)));
}

float log_sum_exp(const RunningSoftmax& s) {
  const hn::CappedTag<float, 1> d;
  if (s.sum == 0) return kBlocked;
  return s.sum > 0 ? s.max + hn::GetLane(hn::Log(d, hn::Set(d, s.sum))) : s.sum;  // a NaN stays one
}

// e <- exp(e - base), their sum returned. base -inf, where every score so far is: 0.
float exponentials(float* e, int64_t n, float base) {
  const RowTag d;
  const RowVector b = hn::Set(d, base == kBlocked ? 0.0f : base);
  return sum_columns(d, n, [&](auto part, int64_t j) HWY_ATTR {
    const RowVector p = HWY_NAMESPACE::Exp(d, hn::Sub(part.load(d, e + j), b));
    part.store(d, p, e + j);
    return p;
  });
}

// p <- p exp(-(j - p_i)² / 2σ²)
void reweight(const RowHead& h, int64_t i, KeyRange keys, float* p) {
  if (!h.centre) return;
  const RowTag d;
  for_columns(d, keys.size(), [&](auto part, int64_t j) HWY_ATTR {
    part.store(d, hn::Mul(part.load(d, p + j), gaussian(d, keys.begin + j, h.centre[i], h.sigma)), p + j);
  });
}

HWY_INLINE void drop(const RowHead& h, int64_t i, KeyRange keys, float* w) {
  if (!h.dropout.active()) return;
  const RowTag d;
  const DropLanes<RowTag> lanes(d, h.dropout);
  const uint32_t seed = dropout_row_seed(h.dropout.row_keys[i], h.dropout.site);
  const uint32_t column = h.first_column + static_cast<uint32_t>(keys.begin);
  for_columns(d, keys.size(), [&](auto part, int64_t j) HWY_ATTR {
    part.store(d, lanes.apply(part.load(d, w + j), seed, column + static_cast<uint32_t>(j)), w + j);
  });
}

// Rows [first, first + count) of a head, and what is known of them so far.
struct Block {
  int64_t first, count;
  Rows out;  // of the head
  RunningSoftmax state[RowHead::kBlockQueries];
  HWY_ALIGN float e[RowHead::kBlockQueries][kChunkKeys];  // scores, then weights
};

// The scores and mixes go strip by strip, so that the queries of a block find its keys in the nearest cache.
void score_chunk(const RowHead& h, KeyRange keys, Block& block) {
  for (int64_t j = keys.begin; j < keys.end; j += kStripKeys) {
    with_strip(std::min<int64_t>(kStripKeys, keys.end - j), [&](auto n) HWY_ATTR {
      for (int64_t r = 0; r < block.count; ++r) strip_scores<n(), false>(h, block.first + r, j, block.e[r] + (j - keys.begin), {});
    });
  }
}

void mix_chunk(const RowHead& h, KeyRange keys, Block& block) {
  for (int64_t j = keys.begin; j < keys.end; j += kStripKeys) {
    with_strip(std::min<int64_t>(kStripKeys, keys.end - j), [&](auto n) HWY_ATTR {
      for (int64_t r = 0; r < block.count; ++r) {
        strip_mix<n()>(block.e[r] + (j - keys.begin), {h.v + j * h.v_stride, h.v_stride}, h.value_width, block.out.row(block.first + r));
      }
    });
  }
}

// Of `count` keys:
//   m' = max(m, max_j e_j);  w_j = exp(e_j - m');  sum' = sum exp(m - m') + Σ_j w_j;  out' = out exp(m - m')
HWY_INLINE void softmax_chunk(const RowHead& h, int64_t count, Block& block, int64_t r) {
  RunningSoftmax& state = block.state[r];
  float* e = block.e[r];
  const float before = state.max;
  const float most = largest(e, count);
  state.max = most > before || most != most ? most : before;
  if (state.sum != 0 && state.max != before) {
    const float factor = exponential(before - state.max);
    state.sum *= factor;
    scale_row(block.out.row(block.first + r), h.value_width, factor);
  }
  state.sum += exponentials(e, count, state.max);
}

HWY_INLINE void begin_block(const RowHead& h, Block& block) {
  for (int64_t r = 0; r < block.count; ++r) {
    std::fill_n(block.out.row(block.first + r), h.value_width, 0.0f);
    block.state[r] = {};
  }
}

HWY_INLINE void end_block(const RowHead& h, Block& block, float* lse, int64_t lse_stride) {
  for (int64_t r = 0; r < block.count; ++r) {
    const RunningSoftmax& state = block.state[r];
    if (state.sum != 0) scale_row(block.out.row(block.first + r), h.value_width, 1 / state.sum);
    if (lse) lse[(h.query_begin + block.first + r) * lse_stride] = log_sum_exp(state);
  }
}

// The allowed keys of a query, kChunkKeys at most: `keys` of them, in runs without a gap.
struct Runs {
  KeyRange run[kChunkKeys];
  int64_t count = 0, keys = 0;

  // From key `from` on; no keys: there are no more.
  Runs(const RowHead& h, int64_t i, int64_t from) {
    while (keys < kChunkKeys) {
      run[count] = h.next_run(i, from, kChunkKeys - keys);
      if (run[count].size() == 0) return;
      keys += run[count].size();
      from = run[count++].end;
    }
  }
  int64_t end() const { return run[count - 1].end; }
};

// body(run, at): `at` keys stand before the run in e.
template <class Body>
HWY_INLINE void for_runs(const Runs& runs, const Body& body) {
  int64_t at = 0;
  for (int64_t n = 0; n < runs.count; at += runs.run[n++].size()) body(runs.run[n], at);
}

// e [of the keys of a run], their bias added
void score_run(const RowHead& h, int64_t i, KeyRange keys, float* e) {
  for (int64_t j = keys.begin; j < keys.end; j += kStripKeys) {
    with_strip(std::min<int64_t>(kStripKeys, keys.end - j),
               [&](auto n) HWY_ATTR { strip_scores<n(), false>(h, i, j, e + (j - keys.begin), {}); });
  }
  for (int64_t j = keys.begin; h.bias && j < keys.end; ++j) e[j - keys.begin] += *h.bias.at(i, j);
}

void mix_run(const RowHead& h, KeyRange keys, const float* w, float* out) {
  for (int64_t j = keys.begin; j < keys.end; j += kStripKeys) {
    with_strip(std::min<int64_t>(kStripKeys, keys.end - j), [&](auto n) HWY_ATTR {
      strip_mix<n()>(w + (j - keys.begin), {h.v + j * h.v_stride, h.v_stride}, h.value_width, out);
    });
  }
}

// One query under a mask or a bias. Chunks are filled whatever the gaps, so the order of every sum is that of the allowed keys alone.
// Not inlined, and what it shares with forward_block() is, so that the code of queries without either stays what it was.
HWY_NOINLINE void forward_ruled(const RowHead& h, Block& block, float* lse, int64_t lse_stride) {
  begin_block(h, block);
  const int64_t i = block.first;
  float* e = block.e[0];
  int64_t from = 0;
  for (Runs runs(h, i, from); runs.keys > 0; runs = Runs(h, i, from)) {
    from = runs.end();
    for_runs(runs, [&](KeyRange keys, int64_t at) HWY_ATTR { score_run(h, i, keys, e + at); });
    softmax_chunk(h, runs.keys, block, 0);
    for_runs(runs, [&](KeyRange keys, int64_t at) HWY_ATTR {
      reweight(h, i, keys, e + at);
      drop(h, i, keys, e + at);
      mix_run(h, keys, e + at, block.out.row(i));
    });
  }
  end_block(h, block, lse, lse_stride);
}

// Queries that see the same keys, a range without a gap.
void forward_block(const RowHead& h, Block& block, float* lse, int64_t lse_stride) {
  const KeyRange all = h.keys_of(block.first);
  begin_block(h, block);
  for (int64_t j = all.begin; j < all.end; j += kChunkKeys) {
    const KeyRange keys{j, std::min(j + kChunkKeys, all.end)};
    score_chunk(h, keys, block);
    for (int64_t r = 0; r < block.count; ++r) {
      softmax_chunk(h, keys.size(), block, r);
      reweight(h, block.first + r, keys, block.e[r]);
      drop(h, block.first + r, keys, block.e[r]);
    }
    mix_chunk(h, keys, block);
  }
  end_block(h, block, lse, lse_stride);
}

void forward(const RowAttention& in, Rows out, float* lse) {
  Block block;
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const RowHead h = row_head(in, b, head);
      block.out = out;
      block.out.data = out.row(h.query_begin) + head * h.value_width;
      for (int64_t i = 0; i < h.queries; i += h.block_queries()) {
        block.first = i;
        block.count = std::min(h.block_queries(), h.queries - i);
        if (h.ruled()) {
          forward_ruled(h, block, lse ? lse + head : nullptr, in.heads);
        } else {
          forward_block(h, block, lse ? lse + head : nullptr, in.heads);
        }
      }
    }
  }
}

// w: of the sentence's first key, zeros. Blocked keys take part as scores of -inf, and are cleared in the end: a NaN among the allowed ones
// is no weight of theirs.
void weight_row(const RowHead& h, int64_t i, float* w) {
  const KeyRange keys = h.keys_of(i);
  if (h.ruled()) std::fill_n(w + keys.begin, keys.size(), kBlocked);
  for (KeyRange run = h.next_run(i, 0, h.keys); run.size() > 0; run = h.next_run(i, run.end, h.keys)) {
    score_run(h, i, run, w + run.begin);
  }
  float* allowed = w + keys.begin;
  const float sum = exponentials(allowed, keys.size(), largest(allowed, keys.size()));
  if (sum != 0) scale_row(allowed, keys.size(), 1 / sum);
  reweight(h, i, keys, allowed);
  for (int64_t j = keys.begin; h.ruled() && j < keys.end; ++j) w[j] = h.allowed(i, j) ? w[j] : 0.0f;
}

// The weights themselves: the same scores, in the caller's row instead of a chunk.
void weights(const RowAttention& in, int sentence, int head, float* weights, int64_t stride) {
  const RowHead h = row_head(in, sentence, head);
  const int64_t columns = in.batch.key_length[sentence];
  for (int64_t i = 0; i < h.queries; ++i) {
    float* w = weights + i * (stride ? stride : columns);
    std::fill_n(w, columns, 0.0f);
    weight_row(h, i, w);
  }
}

}  // namespace
void RowAttentionForward(const RowAttention& in, Rows out, float* lse) { forward(in, out, lse); }
void RowAttentionWeights(const RowAttention& in, int sentence, int head, float* w, int64_t stride) {
  weights(in, sentence, head, w, stride);
}
}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {
HWY_EXPORT(RowAttentionForward);
HWY_EXPORT(RowAttentionWeights);

void row_attention_forward(const RowAttention& in, Rows out, float* lse) { HWY_DYNAMIC_DISPATCH(RowAttentionForward)(in, out, lse); }

void row_attention_weights(const RowAttention& in, int sentence, int head, float* weights, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(RowAttentionWeights)(in, sentence, head, weights, stride);
}

}  // namespace jumok::kernels
#endif
