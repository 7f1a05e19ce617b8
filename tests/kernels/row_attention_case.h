// One call of the RNN attentions with its memory: NaN wherever the kernel has no business, its results and its definition's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.h"
#include "grid.h"
#include "kernels/ref/row_attention.h"
#include "kernels/row_attention.h"

namespace jumok::kernels {

struct RowShape {
  std::vector<int32_t> queries, keys;  // T, S of each sentence
  RowScore score = RowScore::kAdditive;
  int heads = 1, key_width = 4, value_width = 4;
  int window = -1;  // D: query i sees [round(p_i) - D, round(p_i) + D], some queries nothing; below 0: everything
  bool gaussian = false;
  float rate = 0;
  int64_t gap = 3, offset = 1;  // stride = columns + gap, first row `offset` floats into its memory
  bool mask = false, bias = false;
  bool same_heads = false, same_queries = false, same_keys = false;  // what mask, bias and its gradient broadcast over
};

inline std::string describe(const RowShape& s) {
  const char* const scores[] = {"dot", "additive", "given"};
  return std::string(scores[static_cast<int>(s.score)]) + " T " + ::testing::PrintToString(s.queries) + " S " +
         ::testing::PrintToString(s.keys) + " heads " + std::to_string(s.heads) + " d_k " + std::to_string(s.key_width) + " d_v " +
         std::to_string(s.value_width) + " window " + std::to_string(s.window) + (s.gaussian ? " gaussian" : "") + " rate " +
         std::to_string(s.rate) + (s.mask ? " mask" : "") + (s.bias ? " bias" : "") + (s.same_heads ? " of all heads" : "") +
         (s.same_queries ? " of all queries" : "") + (s.same_keys ? " of all keys" : "");
}

class RowCase {
 public:
  static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

  explicit RowCase(const RowShape& s, uint64_t seed = 1)
      : shape(s),
        query_begin(begins(s.queries)),
        key_begin(begins(s.keys)),
        q(total(s.queries), s.heads * s.key_width, s.gap, s.offset),
        k(total(s.keys), s.heads * s.key_width, s.gap, s.offset),
        v(total(s.keys), s.heads * s.value_width, s.gap, s.offset),
        out(total(s.queries), s.heads * s.value_width, s.gap, s.offset),
        dout(total(s.queries), s.heads * s.value_width, s.gap, s.offset),
        dq(total(s.queries), s.heads * s.key_width, s.gap, s.offset),
        dk(total(s.keys), s.heads * s.key_width, s.gap, s.offset),
        dv(total(s.keys), s.heads * s.value_width, s.gap, s.offset),
        u(1, s.heads * s.key_width, 0, s.offset),
        du(1, s.heads * s.key_width, 0, s.offset),
        centre(total(s.queries), 1, 0, s.offset),
        dcentre(total(s.queries), 1, 0, s.offset),
        lse(total(s.queries), s.heads, 0, s.offset) {
    fill_rows(q, query_begin, s.queries, seed * 10 + 1);
    fill_rows(k, key_begin, s.keys, seed * 10 + 2);
    fill_rows(v, key_begin, s.keys, seed * 10 + 3);
    fill_rows(dout, query_begin, s.queries, seed * 10 + 4);
    u.fill_normal(seed * 10 + 5);
    set_windows(seed * 10 + 6);
    out.fill(kNaN);
    lse.fill(kNaN);
    for (int64_t i = 0; i < q.view().rows; ++i) row_keys.push_back(static_cast<uint32_t>(mix64(seed * 1000 + static_cast<uint64_t>(i))));
    set_pairs(seed * 10 + 7);
    clear_gradients();
    if (s.score == RowScore::kDot && s.key_width > 0) scale = 1.0f / std::sqrt(static_cast<float>(s.key_width));
  }

  RowAttention attention() {
    RowAttention in;
    in.q = q.view();
    if (shape.score != RowScore::kGiven) in.k = k.view();
    in.v = v.view();
    in.batch = {static_cast<int>(shape.queries.size()), query_begin.data(), shape.queries.data(), key_begin.data(), shape.keys.data()};
    in.score = shape.score;
    if (shape.score == RowScore::kAdditive) in.u = u.view().data;
    in.heads = shape.heads;
    in.key_width = shape.key_width;
    in.value_width = shape.value_width;
    in.scale = scale;
    if (shape.window >= 0) in.first = first.data(), in.last = last.data();
    if (shape.gaussian) in.centre = centre.view().data;
    in.sigma = sigma;
    if (shape.mask) in.mask = pairs(static_cast<const uint8_t*>(mask.data()));
    if (shape.bias) in.bias = pairs(static_cast<const float*>(bias.data()));
    if (shape.rate > 0) in.dropout = {shape.rate, 3, row_keys.data()};
    return in;
  }
  RowAttentionGradient gradient() {
    workspace.assign(static_cast<size_t>(row_attention_backward_workspace(attention())), kNaN);
    RowAttentionGradient g{out.view(), dout.view(), lse.view().data, dq.view()};
    if (shape.score != RowScore::kGiven) g.dk = dk.view();
    g.dv = dv.view();
    if (shape.score == RowScore::kAdditive) g.du = du.view().data;
    if (shape.gaussian) g.dcentre = dcentre.view().data;
    if (shape.bias) g.dbias = pairs(dbias.data());
    g.workspace = workspace.data();
    return g;
  }
  void forward() { row_attention_forward(attention(), out.view(), lse.view().data); }
  void backward() { row_attention_backward(attention(), gradient()); }
  void run() {
    forward();
    backward();
  }
  void run_definition() {
    ref::row_attention_forward(attention(), out.view(), lse.view().data);
    ref::row_attention_backward(attention(), gradient());
  }
  // Zeros in the rows of the sentences, NaN beside them.
  void clear_gradients() {
    for (Matrix* m : {&dq, &dcentre}) fill_rows(*m, query_begin, shape.queries, 0, 0);
    for (Matrix* m : {&dk, &dv}) fill_rows(*m, key_begin, shape.keys, 0, 0);
    du.fill(0);
    std::fill(dbias.begin(), dbias.end(), 0.0f);
  }
  // Of mask, bias and dbias, which lie as [Nq, H, S of the longest sentence].
  template <typename T>
  RowPairs<T> pairs(T* data) const {
    const int64_t keys = longest_keys(), row = shape.heads * keys;
    return {data, shape.same_queries ? 0 : row, shape.same_keys ? 0 : 1, shape.same_heads ? 0 : keys};
  }
  int64_t longest_keys() const { return shape.keys.empty() ? 0 : *std::max_element(shape.keys.begin(), shape.keys.end()); }
  std::vector<float> weights(int sentence, int head) {
    const auto b = static_cast<size_t>(sentence);
    std::vector<float> w(static_cast<size_t>(shape.queries[b]) * static_cast<size_t>(shape.keys[b]), kNaN);
    row_attention_weights(attention(), sentence, head, w.data());
    return w;
  }

  ConstRows query_rows(Matrix& m, size_t sentence) { return rows(m, query_begin[sentence], shape.queries[sentence]); }
  ConstRows key_rows(Matrix& m, size_t sentence) { return rows(m, key_begin[sentence], shape.keys[sentence]); }
  static ConstRows rows(Matrix& m, int64_t begin, int64_t count) {
    const Rows all = m.view();
    return {all.row(begin), count, all.columns, all.stride};
  }

  RowShape shape;
  std::vector<int32_t> query_begin, key_begin;
  Matrix q, k, v, out, dout, dq, dk, dv, u, du, centre, dcentre, lse;
  std::vector<int32_t> first, last;
  std::vector<uint32_t> row_keys;
  std::vector<uint8_t> mask;
  std::vector<float> bias, dbias, workspace;
  float scale = 1, sigma = 2.5f;

 private:
  // A row that belongs to no sentence stands before each sentence and after the last.
  static std::vector<int32_t> begins(const std::vector<int32_t>& lengths) {
    std::vector<int32_t> begin;
    int32_t row = 1;
    for (int32_t n : lengths) {
      begin.push_back(row);
      row += n + 1;
    }
    return begin;
  }
  static int64_t total(const std::vector<int32_t>& lengths) {
    int64_t rows = 1;
    for (int32_t n : lengths) rows += n + 1;
    return rows;
  }
  static void fill_rows(Matrix& m, const std::vector<int32_t>& begin, const std::vector<int32_t>& lengths, uint64_t key, double size = 1) {
    m.fill(kNaN);
    Rng rng(key);
    for (size_t b = 0; b < begin.size(); ++b) {
      for (int64_t r = begin[b]; r < begin[b] + lengths[b]; ++r) {
        for (int64_t c = 0; c < m.view().columns; ++c) m.at(r, c) = static_cast<float>(size * rng.normal());
      }
    }
  }
  // Every 5th row of the matrix is blocked whole; the others have runs of every length.
  void set_pairs(uint64_t key) {
    Rng rng(key);
    const int64_t row = shape.heads * longest_keys();
    bool block = false;
    for (int64_t n = 0; n < q.view().rows * row; ++n) {
      if (rng.below(3) == 0) block = rng.below(2) != 0;
      mask.push_back(block || n / row % 5 == 4 ? 0 : static_cast<uint8_t>(1 + rng.below(255)));
      bias.push_back(rng.below(4) == 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(rng.normal()));
      dbias.push_back(0);
    }
  }
  // Centres from left of the sentence to right of it; every 7th query sees an empty range, every 11th one that ends before it begins.
  void set_windows(uint64_t key) {
    Rng rng(key);
    centre.fill(kNaN);
    first.assign(static_cast<size_t>(q.view().rows), 0);
    last.assign(first.size(), 1 << 30);
    for (size_t b = 0; b < query_begin.size(); ++b) {
      for (int32_t i = 0; i < shape.queries[b]; ++i) {
        const int64_t row = query_begin[b] + i;
        const double p = -2 + rng.uniform() * (shape.keys[b] + 3);
        centre.at(row, 0) = static_cast<float>(p);
        const auto middle = static_cast<int32_t>(std::lround(p));
        const int half = i % 7 == 6 ? -1 : i % 11 == 10 ? -3 : shape.window;
        first[static_cast<size_t>(row)] = middle - half;
        last[static_cast<size_t>(row)] = middle + half + 1;
      }
    }
  }
};

// Rounding of sums of n terms of like size grows with sqrt(n); measured against the largest element of the matrix, or `size`, that of the
// terms, where these cancel.
inline ::testing::AssertionResult rows_agree(Matrix& actual, Matrix& expected, double terms, double size = 1) {
  double most = size;
  const Rows m = expected.view();
  for (int64_t r = 0; r < m.rows; ++r) {
    for (int64_t c = 0; c < m.columns; ++c) {
      if (std::isfinite(m.row(r)[c])) most = std::max(most, std::abs(static_cast<double>(m.row(r)[c])));
    }
  }
  return close(actual.view(), expected.view(), 0, 8 * kEpsilon * std::sqrt(terms + 16) * most);
}

inline void expect_agreement(RowCase& actual, RowCase& expected) {
  const RowShape& s = actual.shape;
  double terms = s.key_width + s.value_width, pairs = 0;
  for (size_t b = 0; b < s.queries.size(); ++b) {
    terms = std::max<double>(terms, s.queries[b] + s.keys[b] + s.key_width);
    pairs += static_cast<double>(s.queries[b]) * s.keys[b];
  }
  // A score's gradient is α_j (dout·v_j - Σ_k α_k dout·v_k): of a query that is allowed one key it is 0, the difference of two equal
  // products of d_v terms, sqrt(d_v) in size.
  const double cancelled = std::sqrt(s.value_width);
  EXPECT_TRUE(rows_agree(actual.out, expected.out, terms)) << "out";
  EXPECT_TRUE(rows_agree(actual.lse, expected.lse, terms)) << "lse";
  EXPECT_TRUE(rows_agree(actual.dq, expected.dq, terms, cancelled)) << "dq";
  EXPECT_TRUE(rows_agree(actual.dk, expected.dk, terms, cancelled)) << "dk";
  EXPECT_TRUE(rows_agree(actual.dv, expected.dv, terms)) << "dv";
  EXPECT_TRUE(rows_agree(actual.du, expected.du, terms + pairs, cancelled)) << "du";
  EXPECT_TRUE(rows_agree(actual.dcentre, expected.dcentre, terms, cancelled)) << "dcentre";
  // What broadcasts is a sum over its pairs.
  const double bias_terms = terms + (s.same_queries || s.same_keys ? pairs : 0);
  const double most = std::accumulate(expected.dbias.begin(), expected.dbias.end(), cancelled,
                                      [](double x, float y) { return std::max(x, std::abs(static_cast<double>(y))); });
  const auto all = static_cast<int64_t>(actual.dbias.size());
  EXPECT_TRUE(
      close({actual.dbias.data(), 1, all, all}, {expected.dbias.data(), 1, all, all}, 0, 8 * kEpsilon * std::sqrt(bias_terms + 16) * most))
      << "dbias";
  for (Matrix* m : {&actual.out, &actual.dq, &actual.dk, &actual.dv, &actual.du, &actual.dcentre, &actual.lse}) {
    EXPECT_TRUE(m->gaps_untouched());
  }
}

}  // namespace jumok::kernels
