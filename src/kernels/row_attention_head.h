// One head of one sentence of a RowAttention: where its rows lie and which keys each query sees. Plain code, the same for every SIMD
// target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/row_attention.h"

namespace jumok::kernels {

// Keys [begin, end) of a sentence.
struct KeyRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

struct RowHead {
  const float *q, *k, *v, *u;  // first row of the sentence, first column of the head
  int64_t q_stride, k_stride, v_stride;
  int64_t query_begin;             // row of the sentence in the batch's matrices
  int64_t queries, keys;           // T; S, or the positions that have a score where that is fewer
  int64_t key_width, value_width;  // d_k, d_v
  RowScore score;
  float scale;
  const int32_t *first, *last;   // of the sentence's queries, or null
  RowPairs<const uint8_t> mask;  // of the sentence's queries and the head, or none
  RowPairs<const float> bias;    // likewise
  const float* centre;           // of the sentence's queries, or null
  float sigma;
  Dropout dropout;        // row_keys of the sentence's queries
  uint32_t first_column;  // of this head in the dropout's columns

  KeyRange keys_of(int64_t i) const {
    if (!first) return {0, keys};
    const int64_t begin = std::clamp<int64_t>(first[i], 0, keys);
    return {begin, std::clamp<int64_t>(last[i], begin, keys)};
  }
  // The kernels go over runs of allowed keys, so the row of a blocked key is never read, whatever it holds.
  bool ruled() const { return mask || bias; }
  bool allowed(int64_t i, int64_t j) const {
    return (!mask || *mask.at(i, j) != 0) && (!bias || *bias.at(i, j) != -std::numeric_limits<float>::infinity());
  }
  // The keys that query i sees, from `from` on, as runs without a gap: the next run, of `most` keys or fewer; empty after the last.
  KeyRange next_run(int64_t i, int64_t from, int64_t most) const {
    const KeyRange all = keys_of(i);
    KeyRange run{std::max(from, all.begin), all.end};
    if (!ruled()) return {run.begin, std::min(run.end, run.begin + most)};
    while (run.begin < all.end && !allowed(i, run.begin)) ++run.begin;
    for (run.end = run.begin; run.end < all.end && run.size() < most && allowed(i, run.end);) ++run.end;
    return run;
  }

  // Queries that see the same keys share the loads of their rows: so many are taken together.
  int64_t block_queries() const { return first || ruled() ? 1 : kBlockQueries; }
  static constexpr int64_t kBlockQueries = 4;
};

inline RowHead row_head(const RowAttention& in, int sentence, int head) {
  const AttentionBatch& b = in.batch;
  const int64_t query_begin = b.query_begin[sentence], key_begin = b.key_begin[sentence];
  RowHead h;
  h.query_begin = query_begin;
  h.queries = b.query_length[sentence];
  h.keys = in.score == RowScore::kGiven ? std::min<int64_t>(b.key_length[sentence], in.key_width) : b.key_length[sentence];
  h.key_width = in.key_width;
  h.value_width = in.value_width;
  h.q = in.q.row(query_begin) + head * h.key_width;
  h.k = in.score == RowScore::kGiven ? nullptr : in.k.row(key_begin) + head * h.key_width;
  h.v = in.v.row(key_begin) + head * h.value_width;
  h.u = in.score == RowScore::kAdditive ? in.u + head * h.key_width : nullptr;
  h.q_stride = in.q.stride;
  h.k_stride = in.k.stride;
  h.v_stride = in.v.stride;
  h.score = in.score;
  h.scale = in.scale;
  h.first = in.first ? in.first + query_begin : nullptr;
  h.last = in.first ? in.last + query_begin : nullptr;
  h.mask = in.mask.from(query_begin, head);
  h.bias = in.bias.from(query_begin, head);
  h.centre = in.centre ? in.centre + query_begin : nullptr;
  h.sigma = in.sigma;
  h.dropout = in.dropout;
  if (h.dropout.row_keys) h.dropout.row_keys += query_begin;
  h.first_column = in.first_column + static_cast<uint32_t>(head) * 65536u;
  return h;
}

}  // namespace jumok::kernels
