// What a case of the public attention should give, in float64, pair by pair, from the same memory; and the comparison of all that was
// written with it, gaps, padding and rows of no sentence included.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "case.h"
#include "kernels/ref/attention.h"
#include "kernels/ref/row_attention.h"

namespace jumok::attention {

// ---- one sentence's head ----

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

// The factors of dropout of one head as the library reports them, cut to the sentence.
inline std::vector<double> reported_factors(const LibraryCase& a, const Block& factors, int64_t b, int64_t h) {
  std::vector<double> kept;
  for (int64_t i = 0; i < a.query_length(b); ++i) {
    for (int64_t j = 0; j < a.key_length(b); ++j) kept.push_back(factors.at(b, h, i, j));
  }
  return kept;
}

// ---- all memory of a call ----

// The memory of a block, as it is and then as it should be.
struct Twin {
  explicit Twin(const Block& x) : block(x), values(x.memory.begin(), x.memory.end()) {}
  double& of(const float& element) { return values[block.place(element)]; }
  const Block& block;
  std::vector<double> values;
};

// Made before the call, since what the call does not write, and what it adds to, stays.
struct Definition {
  const LibraryCase& a_;
  const LibraryShape& s_;
  Twin out, lse, dq, dk, dv, dbias, dscore;
  Block pairs_;  // [B, H, T, S]
  Twin weights;

  Definition(const LibraryCase& a, bool accumulate)
      : a_(a),
        s_(a.shape),
        out(a.out),
        lse(a.lse),
        dq(a.dq),
        dk(a.dk),
        dv(a.dv),
        dbias(a.dbias),
        dscore(a.dscore),
        pairs_(pairs(a)),
        weights(pairs_) {
    Block factors = pairs(a);
    dropout_factors(a.p, factors.view);
    if (!accumulate) clear_gradients();
    for (int64_t b = 0; b < s_.batch; ++b) {
      for (int64_t h = 0; h < s_.heads; ++h) {
        const std::vector<double> kept = reported_factors(a, factors, b, h);
        add_head(b, h, expected_head(a, b, h, a.p.dropout.rate > 0 ? &kept : nullptr));
      }
    }
  }

 private:
  static Block pairs(const LibraryCase& a) {
    Block x(a.shape.batch, a.shape.heads, a.pair_rows(), a.pair_columns());
    x.fill(0);
    return x;
  }
  float& bias_at(int64_t b, int64_t h, int64_t i, int64_t j) const { return a_.dbias.at(b, h, i, j * a_.dbias_key_stride); }

  void clear_gradients() {
    for (int64_t b = 0; b < s_.batch; ++b) {
      for (int64_t h = 0; h < s_.heads; ++h) {
        for (int64_t i = 0; i < (s_.packed_queries ? a_.query_length(b) : s_.queries); ++i) {
          for (int64_t c = 0; c < s_.key_width; ++c) dq.of(a_.query_at(a_.dq, b, h, i, c)) = 0;
        }
        for (int64_t i = 0; i < a_.pair_rows() && s_.dbias; ++i) {
          for (int64_t j = 0; j < a_.pair_columns(); ++j) dbias.of(bias_at(b, h, i, j)) = 0;
        }
      }
      for (int64_t g = 0; g < s_.groups; ++g) {
        for (int64_t j = 0; j < (s_.packed_keys ? a_.key_length(b) : s_.keys); ++j) {
          for (int64_t c = 0; c < s_.key_width; ++c) dk.of(a_.key_at(a_.dk, b, g, j, c)) = 0;
          for (int64_t c = 0; c < s_.value_width; ++c) dv.of(a_.key_at(a_.dv, b, g, j, c)) = 0;
        }
      }
    }
    a_.dscore.each([&](float& x) { dscore.of(x) = 0; });
  }

  void add_head(int64_t b, int64_t h, const Expected& e) {
    const int64_t t = a_.query_length(b), n = a_.key_length(b), g = h / (s_.heads / s_.groups);
    const auto each = [](const std::vector<double>& values, int64_t columns, const auto& f) {
      for (size_t x = 0; x < values.size(); ++x) f(static_cast<int64_t>(x) / columns, static_cast<int64_t>(x) % columns, values[x]);
    };
    for (int64_t i = 0; i < (s_.packed_queries ? t : s_.queries); ++i) {
      lse.of(a_.query_at(a_.lse, b, h, i, 0)) = i < t ? e.lse[static_cast<size_t>(i)] : -kInfinity;
      for (int64_t c = 0; c < s_.value_width; ++c) out.of(a_.query_at(a_.out, b, h, i, c)) = 0;
    }
    each(e.out, s_.value_width, [&](int64_t i, int64_t c, double x) { out.of(a_.query_at(a_.out, b, h, i, c)) = x; });
    each(e.dq, s_.key_width, [&](int64_t i, int64_t c, double x) { dq.of(a_.query_at(a_.dq, b, h, i, c)) += x; });
    each(e.dk, s_.key_width, [&](int64_t j, int64_t c, double x) { dk.of(a_.key_at(a_.dk, b, g, j, c)) += x; });
    each(e.dv, s_.value_width, [&](int64_t j, int64_t c, double x) { dv.of(a_.key_at(a_.dv, b, g, j, c)) += x; });
    each(e.weights, n, [&](int64_t i, int64_t j, double x) { weights.of(pairs_.at(b, h, i, j)) = x; });
    if (s_.dbias) each(e.dbias, n, [&](int64_t i, int64_t j, double x) { dbias.of(bias_at(b, h, i, j)) += x; });
    if (s_.additive) each(e.dscore, s_.key_width, [&](int64_t, int64_t c, double x) { dscore.of(a_.dscore.at(0, h, 0, c)) += x; });
  }
};

inline bool near(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

inline void expect_memory(const Block& actual, const Twin& expected, double tolerance, const char* what) {
  ASSERT_EQ(actual.memory.size(), expected.values.size()) << what;
  for (size_t i = 0; i < actual.memory.size(); ++i) {
    ASSERT_TRUE(near(actual.memory[i], expected.values[i], tolerance))
        << what << " at " << i << " of " << actual.memory.size() << ": " << actual.memory[i] << ", expected " << expected.values[i];
  }
}

// Forward, backward and weights of a case against the definition: every element of the memory that is written, so also what stands beside
// the rows. Rounding of sums of n terms of like size grows with sqrt(n).
inline void compare_with_definition(LibraryCase& a, Run how = {}, bool accumulate = false) {
  const LibraryShape& s = a.shape;
  const Definition expected(a, accumulate);
  Gradient g = a.gradient();
  g.accumulate = accumulate;
  a.forward(how);
  a.backward(g, how);
  Block weights(s.batch, s.heads, a.pair_rows(), a.pair_columns());
  a.weights(weights.view, how);
  const bool shared = a.dk.view.batch_stride == 0 || a.dv.view.batch_stride == 0;
  const double terms = static_cast<double>((a.pair_rows() + a.pair_columns() + s.key_width + s.value_width) * (s.heads / s.groups)) *
                       (shared ? static_cast<double>(s.batch) : 1.0);
  const double tolerance = 2e-6 * std::sqrt(terms + 16);
  // The backward's weights are exp(e - lse): a rounding of lse is a relative error of theirs.
  double largest_lse = 0;
  a.lse.each([&](float& x) { largest_lse = std::isfinite(x) ? std::max<double>(largest_lse, std::abs(x)) : largest_lse; });
  const double back = 4 * tolerance + 1.2e-7 * largest_lse;
  double steepest = std::max(1.0, std::abs(static_cast<double>(a.p.scale.value_or(1))));
  if (s.additive) a.score.each([&](float& x) { steepest = std::max<double>(steepest, std::abs(x)); });
  const double slope = back * steepest;  // of gradients of q and k
  const auto broadcast = [](int64_t n, int64_t stride) { return stride == 0 ? static_cast<double>(n) : 1.0; };
  const View& bias = a.dbias.view;
  const double sums = broadcast(s.batch, bias.batch_stride) * broadcast(s.heads, bias.head_stride) *
                      broadcast(a.pair_rows(), bias.row_stride) * broadcast(a.pair_columns(), a.dbias_key_stride);
  expect_memory(a.lse, expected.lse, 1e-5, "lse");
  expect_memory(a.out, expected.out, tolerance, "out");
  expect_memory(weights, expected.weights, tolerance, "weights");
  expect_memory(a.dq, expected.dq, slope, "dq");
  expect_memory(a.dk, expected.dk, slope, "dk");
  expect_memory(a.dv, expected.dv, back, "dv");
  if (s.dbias) expect_memory(a.dbias, expected.dbias, back * std::sqrt(sums + 1), "dbias");
  if (s.additive) expect_memory(a.dscore, expected.dscore, back * std::sqrt(1.0 + static_cast<double>(s.batch * a.pair_rows())), "dscore");
}

}  // namespace jumok::attention
