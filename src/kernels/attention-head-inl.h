// One head of one sentence: where its rows lie and which keys its queries see. Plain code, the same for every SIMD target.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention.h"

namespace jumok::kernels {

struct AttentionHead {
  const float *q, *k, *v;  // first row of the sentence, first column of the head
  int64_t q_stride, k_stride, v_stride;
  int64_t query_begin, key_begin;  // rows of the sentence in the batch's matrices
  int64_t queries, keys;           // T, S
  int64_t key_width, value_width;  // d_k, d_v
  float scale;
  bool causal;
  Dropout dropout;
  uint32_t first_column;  // of this head in the dropout's columns

  // Query i sees keys [0, limit(i)): all, or j <= S - T + i.
  int64_t limit(int64_t i) const { return causal ? std::clamp<int64_t>(keys - queries + i + 1, 0, keys) : keys; }
  // The first query that sees key j (below 0 never; at most T - 1 for a key that exists).
  int64_t first_query_of(int64_t j) const { return causal ? std::max<int64_t>(0, j - (keys - queries)) : 0; }
  // The first query that sees anything; T when none does.
  int64_t first_query() const { return keys == 0 ? queries : first_query_of(0); }
};

inline AttentionHead attention_head(const Attention& in, int sentence, int head) {
  const AttentionBatch& b = in.batch;
  AttentionHead h;
  h.query_begin = b.query_begin[sentence];
  h.key_begin = b.key_begin[sentence];
  h.queries = b.query_length[sentence];
  h.keys = b.key_length[sentence];
  h.key_width = in.key_width;
  h.value_width = in.value_width;
  h.q = in.q.row(h.query_begin) + head * h.key_width;
  h.k = in.k.row(h.key_begin) + head * h.key_width;
  h.v = in.v.row(h.key_begin) + head * h.value_width;
  h.q_stride = in.q.stride;
  h.k_stride = in.k.stride;
  h.v_stride = in.v.stride;
  h.scale = in.scale;
  h.causal = in.causal;
  h.dropout = in.dropout;
  h.first_column = static_cast<uint32_t>(head) * 65536u;
  return h;
}

}  // namespace jumok::kernels
