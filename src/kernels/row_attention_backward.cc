// Backward: strip by strip of keys, the probability of a pair comes again from its score and lse, and its tanh are kept in the workspace
// from the score to the gradient, so each is computed once.
//   m_ij = dropout's factor,  g_ij = exp(-(j - p_i)² / 2σ²),  dw_ij = m_ij (dout_i · v_j),  delta_i = Σ_j α_ij g_ij dw_ij = dout_i · o_i
//   dv_j += α_ij g_ij m_ij dout_i      dbias_ij = de_ij = α_ij (g_ij dw_ij - delta_i)      dp_i += Σ_j α_ij g_ij dw_ij (j - p_i) / σ²
#include "kernels/row_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_attention_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <limits>

#include "kernels/row_attention-strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace {

// Views of one head of one sentence, and scratch rows of d_k floats rounded up to whole vectors.
struct HeadRowGradient {
  ConstRows out, dout;
  const float* lse;  // of the sentence's first query; lse_stride apart
  int64_t lse_stride;
  Rows dq, dk, dv;
  float* du;       // of the head, or null
  float* dcentre;  // of the sentence's first query, or null
  RowPairs<float> dbias;
  Rows tanh;  // [kStripKeys, d_k]
  float* block_du;
};

// The pairs of query i with the keys j … j + N - 1.
struct Pairs {
  HWY_ALIGN float e[kStripKeys] = {}, dw[kStripKeys] = {};  // score; m (dout · v)
  HWY_ALIGN float p[kStripKeys] = {}, g[kStripKeys] = {};   // α, Gaussian
  float kept[kStripKeys];                                   // m
};

void probabilities(const RowHead& h, int64_t i, int64_t j, float lse, Pairs& pairs) {
  const hn::CappedTag<float, kStripKeys> d;
  for (int64_t n = 0; n < kStripKeys; n += static_cast<int64_t>(hn::Lanes(d))) {
    hn::Store(HWY_NAMESPACE::Exp(d, hn::Sub(hn::Load(d, pairs.e + n), hn::Set(d, lse))), d, pairs.p + n);
    hn::Store(h.centre ? gaussian(d, j + n, h.centre[i], h.sigma) : hn::Set(d, 1.0f), d, pairs.g + n);
  }
}

void keep(const RowHead& h, int64_t i, int64_t j, Pairs& pairs) {
  std::fill_n(pairs.kept, kStripKeys, 1.0f);
  if (!h.dropout.active()) return;
  const uint32_t seed = dropout_row_seed(h.dropout.row_keys[i], h.dropout.site);
  const float scale = 1.0f / (1.0f - h.dropout.rate);
  for (int n = 0; n < kStripKeys; ++n) {
    const uint32_t column = h.first_column + static_cast<uint32_t>(j + n);
    pairs.kept[n] = dropout_bits(seed, column) >= keep_threshold(h.dropout.rate) ? scale : 0.0f;
  }
}

// Of the scores' gradients de [N].
template <int N>
HWY_INLINE void score_gradient(const RowHead& h, const HeadRowGradient& g, int64_t i, int64_t j, float* de) {
  const Rows dk{g.dk.row(j), N, h.key_width, g.dk.stride};
  if (h.score == RowScore::kAdditive) {
    strip_additive_gradient<N>(de, {{g.tanh.data, g.tanh.stride}, h.u, h.key_width, g.dq.row(i), g.block_du, dk});
  } else if (h.score == RowScore::kDot) {
    for (int n = 0; n < N; ++n) de[n] *= h.scale;
    strip_mix<N>(de, {h.k + j * h.k_stride, h.k_stride}, h.key_width, g.dq.row(i));
    strip_spread<N>(de, h.q + i * h.q_stride, h.key_width, dk);
  } else {
    for (int n = 0; n < N; ++n) g.dq.row(i)[j + n] += de[n];
  }
}

// kPairs: with a bias or its gradient.
template <int N, bool kPairs>
HWY_INLINE void backward_strip(const RowHead& h, const HeadRowGradient& g, int64_t i, int64_t j, float delta) {
  Pairs pairs;
  strip_scores<N, true>(h, i, j, pairs.e, g.tanh);
  for (int n = 0; kPairs && h.bias && n < N; ++n) pairs.e[n] += *h.bias.at(i, j + n);
  strip_dots<N>(g.dout.row(i), {h.v + j * h.v_stride, h.v_stride}, h.value_width, pairs.dw);
  probabilities(h, i, j, g.lse[i * g.lse_stride], pairs);
  keep(h, i, j, pairs);
  float w[N], de[N], dcentre = 0;
  for (int n = 0; n < N; ++n) {
    const float alpha = pairs.p[n], dw = pairs.kept[n] * pairs.dw[n];
    w[n] = alpha * pairs.g[n] * pairs.kept[n];
    de[n] = alpha * (pairs.g[n] * dw - delta);
    if (h.centre) dcentre += alpha * pairs.g[n] * dw * (static_cast<float>(j + n) - h.centre[i]);
  }
  if (g.dcentre) g.dcentre[i] += dcentre / (h.sigma * h.sigma);
  if (g.dv.data) strip_spread<N>(w, g.dout.row(i), h.value_width, {g.dv.row(j), N, h.value_width, g.dv.stride});
  for (int n = 0; kPairs && g.dbias && n < N; ++n) *g.dbias.at(i, j + n) += de[n];
  score_gradient<N>(h, g, i, j, de);
}

// Queries that see the same keys, and their dout · out.
struct Block {
  int64_t first, count;
  float delta[RowHead::kBlockQueries];
};

template <bool kPairs>
HWY_INLINE void backward_keys(const RowHead& h, const HeadRowGradient& g, const Block& block, KeyRange keys) {
  for (int64_t j = keys.begin; j < keys.end; j += kStripKeys) {
    with_strip(std::min<int64_t>(kStripKeys, keys.end - j), [&](auto n) HWY_ATTR {
      for (int64_t r = 0; r < block.count; ++r) {
        const bool blocked = g.lse[(block.first + r) * g.lse_stride] == -std::numeric_limits<float>::infinity();
        if (!blocked) backward_strip<n(), kPairs>(h, g, block.first + r, j, block.delta[r]);
      }
    });
  }
}

// Run by run of the allowed keys, which are one query's under a mask or a bias. Not inlined: the code without either stays what it was.
HWY_NOINLINE void backward_runs(const RowHead& h, const HeadRowGradient& g, const Block& block) {
  for (KeyRange run = h.next_run(block.first, 0, h.keys); run.size() > 0; run = h.next_run(block.first, run.end, h.keys)) {
    backward_keys<true>(h, g, block, run);
  }
}

void backward_block(const RowHead& h, const HeadRowGradient& g, int64_t first, int64_t count) {
  const RowTag d;
  Block block{first, count, {}};
  for (int64_t r = 0; r < count; ++r) strip_dots<1>(g.out.row(first + r), {g.dout.row(first + r), 0}, h.value_width, block.delta + r);
  std::fill_n(g.block_du, h.key_width, 0.0f);
  if (h.ruled() || g.dbias) {
    backward_runs(h, g, block);
  } else {
    backward_keys<false>(h, g, block, h.keys_of(first));
  }
  if (!g.du) return;
  for_columns(d, h.key_width, [&](auto part, int64_t c) HWY_ATTR {
    part.store(d, hn::Add(part.load(d, g.du + c), part.load(d, g.block_du + c)), g.du + c);
  });
}

int64_t scratch_stride(int64_t key_width) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(RowTag()));
  return (key_width + lanes - 1) / lanes * lanes + lanes;  // the extra vector: off powers of two
}
constexpr int64_t kScratchRows = kStripKeys + 3;  // tanh; du of a block; dq and dk that nobody asks for

template <class View>
View from(View m, int64_t row, int64_t column) {
  m.data += row * m.stride + column;
  return m;
}
// A gradient, or one scratch row for all of its rows where nobody asks for it.
Rows or_scratch(Rows m, int64_t row, int64_t column, float* scratch) { return m.data ? from(m, row, column) : Rows{scratch, 0, 0, 0}; }

HeadRowGradient head_gradient(const RowAttention& in, const RowAttentionGradient& g, int sentence, int head) {
  const int64_t query = in.batch.query_begin[sentence], key = in.batch.key_begin[sentence];
  const int64_t key_column = int64_t{head} * in.key_width, value_column = int64_t{head} * in.value_width;
  const int64_t stride = scratch_stride(in.key_width);
  HeadRowGradient h;
  h.out = from(g.out, query, value_column);
  h.dout = from(g.dout, query, value_column);
  h.lse = g.lse + query * in.heads + head;
  h.lse_stride = in.heads;
  h.tanh = {g.workspace, kStripKeys, in.key_width, stride};
  h.block_du = g.workspace + kStripKeys * stride;
  h.dq = or_scratch(g.dq, query, key_column, h.block_du + stride);
  h.dk = or_scratch(g.dk, key, key_column, h.block_du + 2 * stride);
  h.dv = g.dv.data ? from(g.dv, key, value_column) : Rows();
  h.du = g.du ? g.du + key_column : nullptr;
  h.dbias = g.dbias.from(query, head);
  h.dcentre = in.centre && g.dcentre ? g.dcentre + query : nullptr;
  return h;
}

void backward(const RowAttention& in, const RowAttentionGradient& g) {
  std::fill_n(g.workspace, kScratchRows * scratch_stride(in.key_width), 0.0f);
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const RowHead h = row_head(in, b, head);
      const HeadRowGradient gradient = head_gradient(in, g, b, head);
      for (int64_t i = 0; i < h.queries; i += h.block_queries()) backward_block(h, gradient, i, std::min(h.block_queries(), h.queries - i));
    }
  }
}

}  // namespace
void RowAttentionBackward(const RowAttention& in, const RowAttentionGradient& g) { backward(in, g); }
int64_t RowAttentionBackwardFloats(int64_t key_width) { return kScratchRows * scratch_stride(key_width); }
}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {
HWY_EXPORT(RowAttentionBackward);
HWY_EXPORT(RowAttentionBackwardFloats);

int64_t row_attention_backward_workspace(const RowAttention& in) { return HWY_DYNAMIC_DISPATCH(RowAttentionBackwardFloats)(in.key_width); }

void row_attention_backward(const RowAttention& in, const RowAttentionGradient& gradient) {
  HWY_DYNAMIC_DISPATCH(RowAttentionBackward)(in, gradient);
}

}  // namespace jumok::kernels
#endif
