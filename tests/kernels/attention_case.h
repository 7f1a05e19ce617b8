// One attention call with its memory: matrices that hold NaN wherever the kernel has no business, its results and its definition's.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "grid.h"
#include "kernels/attention.h"
#include "kernels/ref/attention.h"

namespace jumok::kernels {

struct AttentionShape {
  std::vector<int32_t> queries, keys;  // T, S of each sentence
  int heads = 1, key_width = 4, value_width = 4;
  bool causal = false;
  float rate = 0;
  int64_t gap = 3, offset = 1;  // stride = columns + gap, first row `offset` floats into its memory
};

class AttentionCase {
 public:
  explicit AttentionCase(const AttentionShape& s, uint64_t seed = 1)
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
        lse(static_cast<size_t>(total(s.queries)) * s.heads, kNaN),
        row_keys(static_cast<size_t>(total(s.queries))) {
    fill_rows(q, query_begin, s.queries, seed * 10 + 1);
    fill_rows(k, key_begin, s.keys, seed * 10 + 2);
    fill_rows(v, key_begin, s.keys, seed * 10 + 3);
    fill_rows(dout, query_begin, s.queries, seed * 10 + 4);
    for (size_t i = 0; i < row_keys.size(); ++i) row_keys[i] = static_cast<uint32_t>(mix64(seed * 1000 + i));
    for (Matrix* m : {&out, &dq, &dk, &dv}) m->fill(kNaN);
    scale = s.key_width ? 1.0f / std::sqrt(static_cast<float>(s.key_width)) : 1.0f;
  }

  Attention attention() {
    Attention in;
    in.q = q.view();
    in.k = k.view();
    in.v = v.view();
    in.batch = {static_cast<int>(shape.queries.size()), query_begin.data(), shape.queries.data(), key_begin.data(), shape.keys.data()};
    in.heads = shape.heads;
    in.key_width = shape.key_width;
    in.value_width = shape.value_width;
    in.scale = scale;
    in.causal = shape.causal;
    if (shape.rate > 0) in.dropout = {shape.rate, 3, row_keys.data()};
    return in;
  }
  AttentionGradient gradient(bool accumulate = false) {
    workspace.assign(static_cast<size_t>(attention_backward_workspace(attention())), kNaN);
    return {out.view(), dout.view(), lse.data(), dq.view(), dk.view(), dv.view(), accumulate, workspace.data()};
  }
  void forward() { attention_forward(attention(), out.view(), lse.data()); }
  void backward(bool accumulate = false) { attention_backward(attention(), gradient(accumulate)); }
  void run() {
    forward();
    backward();
  }
  void run_definition() {
    ref::attention_forward(attention(), out.view(), lse.data());
    ref::attention_backward(attention(), gradient());
  }
  ConstRows lse_view() { return {lse.data(), static_cast<int64_t>(lse.size()), 1, 1}; }

  // Rows of one sentence, without the gap row after it.
  static ConstRows rows(Matrix& m, int64_t begin, int64_t count) {
    const Rows all = m.view();
    return {all.row(begin), count, all.columns, all.stride};
  }
  ConstRows query_rows(Matrix& m, size_t sentence) { return rows(m, query_begin[sentence], shape.queries[sentence]); }
  ConstRows key_rows(Matrix& m, size_t sentence) { return rows(m, key_begin[sentence], shape.keys[sentence]); }

  static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  AttentionShape shape;
  std::vector<int32_t> query_begin, key_begin;
  Matrix q, k, v, out, dout, dq, dk, dv;
  std::vector<float> lse;
  std::vector<uint32_t> row_keys;
  std::vector<float> workspace;
  float scale = 1;

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
  static void fill_rows(Matrix& m, const std::vector<int32_t>& begin, const std::vector<int32_t>& lengths, uint64_t key) {
    m.fill(kNaN);
    Rng rng(key);
    for (size_t b = 0; b < begin.size(); ++b) {
      for (int64_t r = begin[b]; r < begin[b] + lengths[b]; ++r) {
        for (int64_t c = 0; c < m.view().columns; ++c) m.at(r, c) = static_cast<float>(rng.normal());
      }
    }
  }
};

inline double largest(ConstRows m) {
  double most = 1;
  for (int64_t r = 0; r < m.rows; ++r) {
    for (int64_t c = 0; c < m.columns; ++c) {
      if (std::isfinite(m.row(r)[c])) most = std::max(most, std::abs(static_cast<double>(m.row(r)[c])));
    }
  }
  return most;
}

// Rounding of sums of n terms of like size grows with sqrt(n); measured against the largest element of the matrix.
inline ::testing::AssertionResult agree(Matrix& actual, Matrix& expected, double terms) {
  return close(actual.view(), expected.view(), 0, 8 * kEpsilon * std::sqrt(terms + 16) * largest(expected.view()));
}

inline void expect_agreement(AttentionCase& actual, AttentionCase& expected) {
  const AttentionShape& s = actual.shape;
  double terms = s.key_width + s.value_width;
  for (size_t b = 0; b < s.queries.size(); ++b) terms = std::max<double>(terms, s.queries[b] + s.keys[b] + s.key_width);
  EXPECT_TRUE(agree(actual.out, expected.out, terms)) << "out";
  EXPECT_TRUE(agree(actual.dq, expected.dq, terms)) << "dq";
  EXPECT_TRUE(agree(actual.dk, expected.dk, terms)) << "dk";
  EXPECT_TRUE(agree(actual.dv, expected.dv, terms)) << "dv";
  EXPECT_TRUE(close(actual.lse_view(), expected.lse_view(), 1e-5, 1e-5)) << "lse";
  for (Matrix* m : {&actual.out, &actual.dq, &actual.dk, &actual.dv}) EXPECT_TRUE(m->gaps_untouched());
}

}  // namespace jumok::kernels
