// One call of the public attention with its memory; definition.h is what it should give.
#pragma once

#include <gtest/gtest.h>
#include <jumok/attention.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/rng.h"

namespace jumok::attention {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Layout { kDense, kInterleaved, kGaps };

// Where what is read may lie otherwise than a layout says.
struct Spread {
  bool one_batch = false, one_head = false, one_row = false;  // a stride of 0
  bool reversed = false;                                      // rows: a negative stride
  int64_t start = 0;                                          // elements before the first: no vector is aligned
};

// A view and its memory. What no element occupies holds a marker, so that a write beside a row is seen.
struct Block {
  static constexpr float kMarker = -12345.5f;
  std::vector<float> memory;
  std::vector<uint16_t> halves;  // the same in 16 bits, where that is the type
  Type type = Type::f32;
  View view;

  Block() = default;
  Block(int64_t batch, int64_t heads, int64_t rows, int64_t columns, Layout layout = Layout::kDense, Spread s = {}) {
    const int64_t gap = layout == Layout::kGaps ? 3 : 0;
    if (layout == Layout::kInterleaved) {
      view = interleaved(static_cast<float*>(nullptr), batch, heads, rows, columns);
    } else {
      const int64_t row = columns + gap, head = rows * row + gap;
      view = {nullptr, batch, heads, rows, columns, heads * head + gap, head, row};
    }
    if (s.one_batch) view.batch_stride = 0;
    if (s.one_head) view.head_stride = 0;
    if (s.one_row) view.row_stride = 0;
    const bool empty = batch * heads * rows * columns == 0;
    const int64_t last = (batch - 1) * view.batch_stride + (heads - 1) * view.head_stride + (rows - 1) * view.row_stride + columns;
    memory.assign(empty ? 1 : static_cast<size_t>(s.start + last), kMarker);
    view.data = memory.data() + (empty ? 0 : s.start);
    if (!s.reversed || empty) return;
    view.data += (rows - 1) * view.row_stride;
    view.row_stride = -view.row_stride;
  }
  Block(const Block&) = delete;
  Block& operator=(Block&& other) = default;
  Block(Block&& other) = default;

  float& at(int64_t b, int64_t h, int64_t r, int64_t c) const {
    return view.data[b * view.batch_stride + h * view.head_stride + r * view.row_stride + c];
  }
  size_t place(const float& element) const { return static_cast<size_t>(&element - memory.data()); }
  template <typename F>
  void each(const F& f) const {
    for (int64_t b = 0; b < view.batch; ++b) {
      for (int64_t h = 0; h < view.heads; ++h) {
        for (int64_t r = 0; r < view.rows; ++r) {
          for (int64_t c = 0; c < view.columns; ++c) f(at(b, h, r, c));
        }
      }
    }
  }
  void fill(float value) const {
    each([&](float& x) { x = value; });
  }
  void fill_normal(Rng& rng) const {
    each([&](float& x) { x = static_cast<float>(rng.normal()); });
  }
  // As 16-bit numbers from here on; the f32 memory gets their values, for the definition.
  void store_as(Type t) {
    type = t;
    if (t == Type::f32) return;
    halves.resize(memory.size());
    for (size_t i = 0; i < memory.size(); ++i) {
      halves[i] = t == Type::f16 ? f32_to_f16(memory[i]) : f32_to_bf16(memory[i]);
      memory[i] = t == Type::f16 ? f16_to_f32(halves[i]) : bf16_to_f32(halves[i]);
    }
  }
  ConstView read() const {
    ConstView v = view;
    v.type = type;
    if (type != Type::f32) v.data = halves.data() + (view.data - memory.data());
    return v;
  }
};

struct LibraryShape {
  int64_t batch = 1, heads = 1, groups = 1, queries = 4, keys = 4, key_width = 4, value_width = 4;
  Layout layout = Layout::kDense;
  std::vector<int64_t> query_lengths, key_lengths;  // empty: all rows; else one a sentence
  bool packed_queries = false, packed_keys = false;
  Type type = Type::f32, query_type = Type::f32;
  bool dbias = false;
  bool additive = false;  // the additive score in the place of the scaled dot product; f32 alone
};

class LibraryCase {
 public:
  explicit LibraryCase(const LibraryShape& s, uint64_t seed = 1) : shape(s), rng_(seed) {
    begins(shape.query_lengths, s.packed_queries, query_begin, query_rows);
    begins(shape.key_lengths, s.packed_keys, key_begin, key_rows);
    if (!s.packed_queries) query_rows = s.queries;
    if (!s.packed_keys) key_rows = s.keys;
    const int64_t bq = s.packed_queries ? 1 : s.batch, bk = s.packed_keys ? 1 : s.batch;
    for (Block* b : {&q, &dq}) *b = Block(bq, s.heads, query_rows, s.key_width, s.layout);
    for (Block* b : {&out, &dout}) *b = Block(bq, s.heads, query_rows, s.value_width, s.layout);
    lse = Block(bq, s.heads, query_rows, 1, s.layout);
    for (Block* b : {&k, &dk}) *b = Block(bk, s.groups, key_rows, s.key_width, s.layout);
    for (Block* b : {&v, &dv}) *b = Block(bk, s.groups, key_rows, s.value_width, s.layout);
    for (Block* b : {&q, &k, &v, &dout}) b->fill_normal(rng_);
    for (Block* b : {&out, &lse, &dq, &dk, &dv}) b->fill(kNaN);
    dbias = Block(s.batch, s.heads, pair_rows(), pair_columns());
    if (s.additive) {
      score = Block(1, s.heads, 1, s.key_width), dscore = Block(1, s.heads, 1, s.key_width);
      score.fill_normal(rng_);
      dscore.fill(kNaN);
    }
    p.sentences = s.batch;
    if (!shape.query_lengths.empty()) p.queries.length = shape.query_lengths.data();
    if (!shape.key_lengths.empty()) p.keys.length = shape.key_lengths.data();
    if (s.packed_queries) p.queries.begin = query_begin.data();
    if (s.packed_keys) p.keys.begin = key_begin.data();
    store();
  }

  // After the inputs were changed.
  void store() {
    q.store_as(shape.query_type);
    k.store_as(shape.type);
    v.store_as(shape.type);
    p.q = q.read();
    p.k = k.read();
    p.v = v.read();
  }
  void forward(Run run = {}) {
    if (shape.additive) {
      additive_forward(p, score.view.data, {out.view, lse.view}, run);
    } else {
      attention::forward(p, {out.view, lse.view}, run);
    }
  }
  void weights(const View& result, Run run = {}) const {
    if (shape.additive) {
      additive_weights(p, score.view.data, result, run);
    } else {
      attention::weights(p, result, run);
    }
  }
  Gradient gradient() {
    Gradient g{out.view, dout.view, lse.view, dq.view, dk.view, dv.view};
    if (shape.dbias) g.dbias = {dbias.view.data, dbias.view.batch_stride, dbias.view.head_stride, dbias.view.row_stride, dbias_key_stride};
    return g;
  }
  void backward(const Gradient& g, Run run) {
    if (shape.additive) {
      additive_backward(p, score.view.data, g, dscore.view.data, run);
    } else {
      attention::backward(p, g, run);
    }
  }
  void backward(Run run = {}) { backward(gradient(), run); }
  void run(Run how = {}) {
    forward(how);
    backward(how);
  }

  int64_t query_length(int64_t b) const {
    return shape.query_lengths.empty() ? shape.queries : shape.query_lengths[static_cast<size_t>(b)];
  }
  int64_t key_length(int64_t b) const { return shape.key_lengths.empty() ? shape.keys : shape.key_lengths[static_cast<size_t>(b)]; }
  int64_t pair_rows() const { return shape.packed_queries ? longest(shape.query_lengths) : shape.queries; }
  int64_t pair_columns() const { return shape.packed_keys ? longest(shape.key_lengths) : shape.keys; }
  int64_t offset(int64_t b) const {
    return p.rules.offset ? *p.rules.offset : p.rules.offsets ? p.rules.offsets[b] : key_length(b) - query_length(b);
  }

  // The rules of jumok/attention.h, word for word.
  bool allowed(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t position = offset(b) + i;
    const Rules& r = p.rules;
    if (r.causal && j > position) return false;
    if (r.left >= 0 && j < position - r.left) return false;
    if (r.right >= 0 && j > position + r.right) return false;
    if (r.mask.data && !*pair(r.mask, b, h, i, j)) return false;
    return !r.bias.data || *pair(r.bias, b, h, i, j) != -kInfinity;
  }

  // Element (sentence, head, row, column) of a block with the rows of q, or of k.
  float& query_at(const Block& x, int64_t b, int64_t h, int64_t r, int64_t c) const {
    return shape.packed_queries ? x.at(0, h, query_begin[static_cast<size_t>(b)] + r, c) : x.at(b, h, r, c);
  }
  float& key_at(const Block& x, int64_t b, int64_t g, int64_t r, int64_t c) const {
    return shape.packed_keys ? x.at(0, g, key_begin[static_cast<size_t>(b)] + r, c) : x.at(b, g, r, c);
  }
  template <typename T>
  static T* pair(const Pairs<T>& x, int64_t b, int64_t h, int64_t i, int64_t j) {
    return x.data + b * x.batch_stride + h * x.head_stride + i * x.query_stride + j * x.key_stride;
  }

  LibraryShape shape;
  Problem p;
  Block q, k, v, out, lse, dout, dq, dk, dv, dbias;
  int64_t dbias_key_stride = 1;
  Block score, dscore;  // [1, H, 1, d_k] of the additive score
  std::vector<int64_t> query_begin, key_begin;
  int64_t query_rows = 0, key_rows = 0;

 private:
  static int64_t longest(const std::vector<int64_t>& lengths) {
    int64_t most = 0;
    for (int64_t n : lengths) most = std::max(most, n);
    return most;
  }
  // A row of no sentence before each sentence and after the last.
  static void begins(const std::vector<int64_t>& lengths, bool packed, std::vector<int64_t>& begin, int64_t& rows) {
    rows = 1;
    for (size_t b = 0; packed && b < lengths.size(); ++b) {
      begin.push_back(rows);
      rows += lengths[b] + 1;
    }
  }
  Rng rng_;
};

// Those of a forward pass, entry by entry.
inline std::vector<float> outputs(LibraryCase& a) {
  a.forward();
  std::vector<float> out;
  a.out.each([&](float& x) { out.push_back(x); });
  return out;
}

}  // namespace jumok::attention
