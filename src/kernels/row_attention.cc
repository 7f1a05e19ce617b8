// Forward: a few queries at a time, chunk by chunk of their keys, with a running softmax (Milakov & Gimelshein 2018). Chunks start at the
// first key that a query sees, so a row's bits depend on nothing else.
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

void drop(const RowHead& h, int64_t i, KeyRange keys, float* w) {
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

//   m' = max(m, max_j e_j);  w_j = exp(e_j - m');  sum' = sum exp(m - m') + Σ_j w_j;  out' = out exp(m - m')
void softmax_chunk(const RowHead& h, KeyRange keys, Block& block, int64_t r) {
  RunningSoftmax& state = block.state[r];
  float* e = block.e[r];
  const float before = state.max;
  const float most = largest(e, keys.size());
  state.max = most > before || most != most ? most : before;
  if (state.sum != 0 && state.max != before) {
    const float factor = exponential(before - state.max);
    state.sum *= factor;
    scale_row(block.out.row(block.first + r), h.value_width, factor);
  }
  state.sum += exponentials(e, keys.size(), state.max);
  reweight(h, block.first + r, keys, e);
  drop(h, block.first + r, keys, e);
}

void forward_block(const RowHead& h, Block& block, float* lse, int64_t lse_stride) {
  const KeyRange all = h.keys_of(block.first);
  for (int64_t r = 0; r < block.count; ++r) {
    std::fill_n(block.out.row(block.first + r), h.value_width, 0.0f);
    block.state[r] = {};
  }
  for (int64_t j = all.begin; j < all.end; j += kChunkKeys) {
    const KeyRange keys{j, std::min(j + kChunkKeys, all.end)};
    score_chunk(h, keys, block);
    for (int64_t r = 0; r < block.count; ++r) softmax_chunk(h, keys, block, r);
    mix_chunk(h, keys, block);
  }
  for (int64_t r = 0; r < block.count; ++r) {
    const RunningSoftmax& state = block.state[r];
    if (state.sum != 0) scale_row(block.out.row(block.first + r), h.value_width, 1 / state.sum);
    if (lse) lse[(h.query_begin + block.first + r) * lse_stride] = log_sum_exp(state);
  }
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
        forward_block(h, block, lse ? lse + head : nullptr, in.heads);
      }
    }
  }
}

// The weights themselves: the same scores, in the caller's row instead of a chunk.
void weights(const RowAttention& in, int sentence, int head, float* weights) {
  const RowHead h = row_head(in, sentence, head);
  const int64_t columns = in.batch.key_length[sentence];
  std::fill_n(weights, h.queries * columns, 0.0f);
  for (int64_t i = 0; i < h.queries; ++i) {
    const KeyRange keys = h.keys_of(i);
    float* w = weights + i * columns + keys.begin;
    for (int64_t j = keys.begin; j < keys.end; j += kStripKeys) {
      with_strip(std::min<int64_t>(kStripKeys, keys.end - j),
                 [&](auto n) HWY_ATTR { strip_scores<n(), false>(h, i, j, w + (j - keys.begin), {}); });
    }
    const float sum = exponentials(w, keys.size(), largest(w, keys.size()));
    if (sum != 0) scale_row(w, keys.size(), 1 / sum);
    reweight(h, i, keys, w);
  }
}

}  // namespace
void RowAttentionForward(const RowAttention& in, Rows out, float* lse) { forward(in, out, lse); }
void RowAttentionWeights(const RowAttention& in, int sentence, int head, float* w) { weights(in, sentence, head, w); }
}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {
HWY_EXPORT(RowAttentionForward);
HWY_EXPORT(RowAttentionWeights);

void row_attention_forward(const RowAttention& in, Rows out, float* lse) { HWY_DYNAMIC_DISPATCH(RowAttentionForward)(in, out, lse); }

void row_attention_weights(const RowAttention& in, int sentence, int head, float* weights) {
  HWY_DYNAMIC_DISPATCH(RowAttentionWeights)(in, sentence, head, weights);
}

}  // namespace jumok::kernels
#endif
