// One head of one sentence: where its rows lie, and which keys its queries see. What the kernels of attention.h are made of; the public
// header's views arrive here too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/attention.h"

namespace jumok::kernels {

enum class Storage : uint8_t { kF32, kF16, kBF16 };

// Row r begins at element r · stride (which may be 0, or negative); the columns of a row are adjacent.
struct HeadRows {
  const void* data = nullptr;
  int64_t stride = 0;
  Storage storage = Storage::kF32;

  HeadRows() = default;
  HeadRows(const float* d, int64_t s) : data(d), stride(s) {}
  HeadRows(const void* d, int64_t s, Storage t) : data(d), stride(s), storage(t) {}

  bool f32() const { return storage == Storage::kF32; }
  const float* row(int64_t r) const { return static_cast<const float*>(data) + r * stride; }  // of f32 rows
  const uint16_t* half_row(int64_t r) const { return static_cast<const uint16_t*>(data) + r * stride; }
};

// A value for each pair, at data + i · stride + j · key_stride; a stride of 0 broadcasts. data null: none.
template <typename T>
struct PairView {
  T* data = nullptr;
  int64_t stride = 0, key_stride = 1;
  explicit operator bool() const { return data != nullptr; }
  T* at(int64_t i, int64_t j) const { return data + i * stride + j * key_stride; }
};

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

constexpr int64_t kUnlimited = int64_t{1} << 60;  // positions stay below 2^59

struct AttentionHead {
  HeadRows q, k, v;                        // [T, d_k], [S, d_k], [S, d_v]
  int64_t queries = 0, keys = 0;           // T, S
  int64_t key_width = 0, value_width = 0;  // d_k, d_v
  float scale = 1;
  // Query i stands at position p = offset + i and sees the keys from p - behind to p + ahead. The causal rule: ahead = 0.
  int64_t offset = 0, behind = kUnlimited, ahead = kUnlimited;
  int64_t from = 0;              // forward only: no query sees a key before this one; where the queries are rows that all see one window
  PairView<const uint8_t> mask;  // not 0: may attend
  PairView<const float> bias;    // added to the score; -inf blocks the pair
  Dropout dropout;               // row_keys: of the head's queries, [T]
  uint32_t first_column = 0;     // of this head in the dropout's columns

  // Query i sees keys in [first(i), limit(i)), as far as mask and bias allow.
  int64_t first(int64_t i) const { return std::clamp<int64_t>(offset + i - behind, from, keys); }
  int64_t limit(int64_t i) const { return std::clamp<int64_t>(offset + i + ahead + 1, 0, keys); }
  // The queries that see key j: [first_query_of(j), end_query_of(j)); the former may lie past T, the latter below 0.
  int64_t first_query_of(int64_t j) const { return std::max<int64_t>(0, j - ahead - offset); }
  int64_t end_query_of(int64_t j) const { return std::min(queries, j + behind - offset + 1); }
  // Queries outside [first_query(), end_query()) see nothing; first_query() is T when none sees anything.
  int64_t first_query() const { return keys == 0 ? queries : std::min(queries, first_query_of(0)); }
  int64_t end_query() const { return keys == 0 ? queries : std::max(first_query(), end_query_of(keys - 1)); }

  bool windowed() const { return behind < kUnlimited || from > 0; }
  // Pairs may be blocked inside the ranges that the tiles are cut to.
  bool ruled() const { return mask || bias || windowed(); }
  // The definition of a pair that may attend; for the exact slow paths.
  bool allowed(int64_t i, int64_t j) const {
    return j >= first(i) && j < limit(i) && (!mask || *mask.at(i, j) != 0) &&
           (!bias || *bias.at(i, j) != -std::numeric_limits<float>::infinity());
  }
};

inline AttentionHead attention_head(const Attention& in, int sentence, int head) {
  const AttentionBatch& b = in.batch;
  const int64_t query_begin = b.query_begin[sentence], key_begin = b.key_begin[sentence];
  AttentionHead h;
  h.queries = b.query_length[sentence];
  h.keys = b.key_length[sentence];
  h.key_width = in.key_width;
  h.value_width = in.value_width;
  h.q = {in.q.row(query_begin) + head * h.key_width, in.q.stride};
  h.k = {in.k.row(key_begin) + head * h.key_width, in.k.stride};
  h.v = {in.v.row(key_begin) + head * h.value_width, in.v.stride};
  h.scale = in.scale;
  h.offset = h.keys - h.queries;
  if (in.causal) h.ahead = 0;
  h.dropout = in.dropout;
  if (h.dropout.row_keys) h.dropout.row_keys += query_begin;
  h.first_column = static_cast<uint32_t>(head) * 65536u;
  return h;
}

// Queries `rows` of the head: out (row 0 is the head's query 0) and lse (at query i: lse[i · lse_stride]; may be null). Rows of other
// queries are not touched, so blocks of queries can be computed apart; a row's bits do not depend on the block.
void attention_head_forward(const AttentionHead& head, Range rows, Rows out, float* lse, int64_t lse_stride);

// Of all queries. The views begin at the head's first row and column.
struct HeadGradient {
  Rows dq, dk, dv;
  ConstRows out, dout;
  const float* lse = nullptr;
  int64_t lse_stride = 1;
  bool accumulate_queries = false, accumulate_keys = false;  // of dq; of dk and dv. false: overwritten
  PairView<float> dbias;                                     // always added to; null: not wanted
  float* workspace = nullptr;                                // attention_head_workspace(T) floats
};
int64_t attention_head_workspace(int64_t queries);
void attention_head_backward(const AttentionHead& head, const HeadGradient& gradient);

// w [T, S], row i at w + i · stride: the weights before dropout, or (`scores`) the scores with their bias, -inf where blocked.
void attention_head_weights(const AttentionHead& head, float* w, int64_t stride, bool scores);

}  // namespace jumok::kernels
