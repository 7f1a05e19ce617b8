// One call of the public attention with its memory, and its definition in float64, pair by pair, from the same memory.
#pragma once

#include <gtest/gtest.h>
#include <jumok/attention.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/rng.h"
#include "kernels/ref/attention.h"
#include "kernels/ref/row_attention.h"

namespace jumok::attention {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Layout { kDense, kInterleaved, kGaps };

// A view and its memory. What no element occupies holds a marker, so that a write beside a row is seen.
struct Block {
  static constexpr float kMarker = -12345.5f;
  std::vector<float> memory;
  std::vector<uint16_t> halves;  // the same in 16 bits, where that is the type
  Type type = Type::f32;
  View view;

  Block() = default;
  Block(int64_t batch, int64_t heads, int64_t rows, int64_t columns, Layout layout = Layout::kDense) {
    const int64_t gap = layout == Layout::kGaps ? 3 : 0;
    if (layout == Layout::kInterleaved) {
      view = interleaved(static_cast<float*>(nullptr), batch, heads, rows, columns);
    } else {
      const int64_t row = columns + gap, head = rows * row + gap;
      view = {nullptr, batch, heads, rows, columns, heads * head + gap, head, row};
    }
    const bool empty = batch * heads * rows * columns == 0;
    const int64_t last = (batch - 1) * view.batch_stride + (heads - 1) * view.head_stride + (rows - 1) * view.row_stride + columns;
    memory.assign(empty ? 1 : static_cast<size_t>(last), kMarker);
    view.data = memory.data();
  }
  Block(const Block&) = delete;
  Block& operator=(Block&& other) = default;
  Block(Block&& other) = default;

  float& at(int64_t b, int64_t h, int64_t r, int64_t c) const {
    return view.data[b * view.batch_stride + h * view.head_stride + r * view.row_stride + c];
  }
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
    if (type != Type::f32) v.data = halves.data();
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
    if (shape.dbias) g.dbias = {dbias.view.data, dbias.view.batch_stride, dbias.view.head_stride, dbias.view.row_stride, 1};
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

// What one sentence's head should give, in float64.
struct Expected {
  std::vector<double> weights, out, lse, dq, dk, dv, dbias, dscore;
};

inline void expect_scaled_dot(const LibraryCase& a, kernels::ref::AttentionProblem in, const std::vector<double>& dout, Expected& e) {
  in.scale = a.p.scale ? static_cast<double>(*a.p.scale) : in.key_width ? 1 / std::sqrt(static_cast<double>(in.key_width)) : 1.0;
  kernels::ref::attention_forward(in, {e.weights.data(), e.out.data(), e.lse.data()});
  kernels::ref::attention_backward(in, dout.data(), e.dq.data(), e.dk.data(), e.dv.data(), e.dbias.data());
}

inline void expect_additive(const LibraryCase& a, const kernels::ref::AttentionProblem& in, int64_t h, const std::vector<double>& dout,
                            Expected& e) {
  std::vector<double> u;
  for (int64_t c = 0; c < in.key_width; ++c) u.push_back(a.score.at(0, h, 0, c));
  e.dscore.resize(u.size());
  kernels::ref::RowProblem row{kernels::RowScore::kAdditive, in.queries, in.keys, in.key_width, in.value_width, in.q, in.k, in.v, u.data()};
  row.mask = in.allowed;
  row.bias = in.bias;
  row.kept = in.kept;
  kernels::ref::row_attention_forward(row, {e.weights.data(), e.out.data(), e.lse.data()});
  kernels::ref::row_attention_backward(row, dout.data(), {e.dq.data(), e.dk.data(), e.dv.data(), e.dscore.data(), nullptr, e.dbias.data()});
}

inline Expected expected_head(const LibraryCase& a, int64_t b, int64_t h, const std::vector<double>* kept = nullptr) {
  const LibraryShape& s = a.shape;
  const int64_t t = a.query_length(b), n = a.key_length(b), group = h / (s.heads / s.groups);
  std::vector<double> q, k, v, dout, bias;
  std::vector<uint8_t> allowed;
  for (int64_t i = 0; i < t; ++i) {
    for (int64_t c = 0; c < s.key_width; ++c) q.push_back(a.query_at(a.q, b, h, i, c));
    for (int64_t c = 0; c < s.value_width; ++c) dout.push_back(a.query_at(a.dout, b, h, i, c));
    for (int64_t j = 0; j < n; ++j) {
      allowed.push_back(a.allowed(b, h, i, j));
      bias.push_back(a.p.rules.bias.data ? *LibraryCase::pair(a.p.rules.bias, b, h, i, j) : 0.0);
    }
  }
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t c = 0; c < s.key_width; ++c) k.push_back(a.key_at(a.k, b, group, j, c));
    for (int64_t c = 0; c < s.value_width; ++c) v.push_back(a.key_at(a.v, b, group, j, c));
  }
  const auto size = [](int64_t x, int64_t y) { return static_cast<size_t>(x * y); };
  Expected e;
  e.weights.resize(size(t, n)), e.dbias.resize(size(t, n)), e.out.resize(size(t, s.value_width)), e.lse.resize(size(t, 1));
  e.dq.resize(q.size()), e.dk.resize(k.size()), e.dv.resize(v.size());
  kernels::ref::AttentionProblem in{t, n, s.key_width, s.value_width, q.data(), k.data(), v.data()};
  in.allowed = allowed.data();
  in.bias = bias.data();
  in.kept = kept ? kept->data() : nullptr;
  if (s.additive) {
    expect_additive(a, in, h, dout, e);
  } else {
    expect_scaled_dot(a, in, dout, e);
  }
  return e;
}

// Rounding of sums of n terms of like size grows with sqrt(n).
inline void expect_near(double actual, double expected, double tolerance, const char* what) {
  if (std::isinf(expected)) {
    EXPECT_EQ(actual, expected) << what;
  } else {
    EXPECT_NEAR(actual, expected, tolerance * std::max(1.0, std::abs(expected))) << what;
  }
}

// The factors of dropout of one head as the library reports them, cut to the sentence.
inline std::vector<double> reported_factors(const LibraryCase& a, const Block& factors, int64_t b, int64_t h) {
  std::vector<double> kept;
  for (int64_t i = 0; i < a.query_length(b); ++i) {
    for (int64_t j = 0; j < a.key_length(b); ++j) kept.push_back(factors.at(b, h, i, j));
  }
  return kept;
}

// Of the additive score: a sum over sentences and pairs.
inline void compare_dscore(const LibraryCase& a, const Block& factors, double tolerance) {
  const LibraryShape& s = a.shape;
  for (int64_t h = 0; h < s.heads; ++h) {
    std::vector<double> dscore(static_cast<size_t>(s.key_width));
    for (int64_t b = 0; b < s.batch; ++b) {
      const std::vector<double> kept = reported_factors(a, factors, b, h);
      const Expected e = expected_head(a, b, h, a.p.dropout.rate > 0 ? &kept : nullptr);
      for (size_t c = 0; c < dscore.size(); ++c) dscore[c] += e.dscore[c];
    }
    const double terms = std::sqrt(static_cast<double>(1 + s.batch * a.pair_rows()));
    for (int64_t c = 0; c < s.key_width; ++c) {
      expect_near(a.dscore.at(0, h, 0, c), dscore[static_cast<size_t>(c)], tolerance * terms, "dscore");
    }
  }
}

// Forward, backward and weights of a case against the definition, padding rows and gaps included.
inline void compare_with_definition(LibraryCase& a, Run how = {}) {
  const LibraryShape& s = a.shape;
  a.run(how);
  Block weights(s.batch, s.heads, a.pair_rows(), a.pair_columns()), factors(s.batch, s.heads, a.pair_rows(), a.pair_columns());
  a.weights(weights.view, how);
  dropout_factors(a.p, factors.view);
  const double terms = static_cast<double>(a.pair_rows() + a.pair_columns() + s.key_width + s.value_width) * (s.heads / s.groups);
  const double tolerance = 2e-6 * std::sqrt(terms + 16);
  // The backward's weights are exp(e - lse): a rounding of lse is a relative error of theirs.
  double largest_lse = 0;
  a.lse.each([&](float& x) { largest_lse = std::isfinite(x) ? std::max<double>(largest_lse, std::abs(x)) : largest_lse; });
  const double back = 4 * tolerance + 1.2e-7 * largest_lse;
  double steepest = std::max(1.0, std::abs(static_cast<double>(a.p.scale.value_or(1))));
  if (s.additive) a.score.each([&](float& x) { steepest = std::max<double>(steepest, std::abs(x)); });
  const double slope = back * steepest;  // of gradients of q and k
  if (s.additive) compare_dscore(a, factors, back);
  for (int64_t b = 0; b < s.batch; ++b) {
    const int64_t t = a.query_length(b), n = a.key_length(b);
    for (int64_t g = 0; g < s.groups; ++g) {
      std::vector<double> dk(static_cast<size_t>(n * s.key_width)), dv(static_cast<size_t>(n * s.value_width));
      for (int64_t h = g * (s.heads / s.groups); h < (g + 1) * (s.heads / s.groups); ++h) {
        const std::vector<double> kept = reported_factors(a, factors, b, h);
        const Expected e = expected_head(a, b, h, a.p.dropout.rate > 0 ? &kept : nullptr);
        for (size_t x = 0; x < dk.size(); ++x) dk[x] += e.dk[x];
        for (size_t x = 0; x < dv.size(); ++x) dv[x] += e.dv[x];
        for (int64_t i = 0; i < t; ++i) {
          expect_near(a.query_at(a.lse, b, h, i, 0), e.lse[static_cast<size_t>(i)], 1e-5, "lse");
          for (int64_t c = 0; c < s.value_width; ++c) {
            expect_near(a.query_at(a.out, b, h, i, c), e.out[static_cast<size_t>(i * s.value_width + c)], tolerance, "out");
          }
          for (int64_t c = 0; c < s.key_width; ++c) {
            expect_near(a.query_at(a.dq, b, h, i, c), e.dq[static_cast<size_t>(i * s.key_width + c)], slope, "dq");
          }
          for (int64_t j = 0; j < n; ++j) {
            expect_near(weights.at(b, h, i, j), e.weights[static_cast<size_t>(i * n + j)], tolerance, "weights");
            if (s.dbias) expect_near(a.dbias.at(b, h, i, j), e.dbias[static_cast<size_t>(i * n + j)], back, "dbias");
          }
        }
      }
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t c = 0; c < s.key_width; ++c) {
          expect_near(a.key_at(a.dk, b, g, j, c), dk[static_cast<size_t>(j * s.key_width + c)], slope, "dk");
        }
        for (int64_t c = 0; c < s.value_width; ++c) {
          expect_near(a.key_at(a.dv, b, g, j, c), dv[static_cast<size_t>(j * s.value_width + c)], back, "dv");
        }
      }
    }
  }
}

// Those of a forward pass, entry by entry.
inline std::vector<float> outputs(LibraryCase& a) {
  a.forward();
  std::vector<float> out;
  a.out.each([&](float& x) { out.push_back(x); });
  return out;
}

}  // namespace jumok::attention
