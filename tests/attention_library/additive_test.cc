// The additive score of the public attention header against its definition in float64, written out here pair by pair.
#include <jumok/error.h>

#include "case.h"

namespace jumok::attention {
namespace {

constexpr int64_t kBatch = 3, kHeads = 2, kQueries = 5, kKeys = 7, kWidth = 9, kValues = 6;

struct AdditiveCase {
  Rng rng{4};
  std::vector<float> q = draw(kBatch * kHeads * kQueries * kWidth), k = draw(kBatch * kHeads * kKeys * kWidth),
                     v = draw(kBatch * kHeads * kKeys * kValues), score = draw(kHeads * kWidth),
                     dout = draw(kBatch * kHeads * kQueries * kValues);
  std::vector<int64_t> query_length = {5, 0, 3}, key_length = {7, 4, 1};
  std::vector<float> bias = draw(kBatch * kQueries * kKeys), factors;  // of all heads; [B, H, T, S]
  std::vector<uint8_t> mask;                                           // [H, S], of all sentences and queries
  int64_t groups = kHeads;
  Problem p;

  AdditiveCase() {
    p.q = dense(q.data(), kBatch, kHeads, kQueries, kWidth);
    p.k = dense(k.data(), kBatch, kHeads, kKeys, kWidth);
    p.v = dense(v.data(), kBatch, kHeads, kKeys, kValues);
    p.queries.length = query_length.data();
    p.keys.length = key_length.data();
    for (int64_t n = 0; n < kHeads * kKeys; ++n) mask.push_back(n % 5 != 1);
    for (size_t n = 0; n < bias.size(); n += 3) bias[n] = -kInfinity;
    factors.assign(kBatch * kHeads * kQueries * kKeys, 1.0f);
  }
  void add_mask() { p.rules.mask = {mask.data(), 0, kKeys, 0, 1}; }
  void add_bias() { p.rules.bias = {bias.data(), kQueries * kKeys, 0, kKeys, 1}; }
  void add_dropout() {
    p.dropout = {0.4f, 9};
    dropout_factors(p, dense(factors.data(), kBatch, kHeads, kQueries, kKeys));
  }
  void group_heads() {
    groups = 1;
    p.k = dense(k.data(), kBatch, 1, kKeys, kWidth);
    p.v = dense(v.data(), kBatch, 1, kKeys, kValues);
  }
  std::vector<float> draw(int64_t n) {
    std::vector<float> x;
    for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<float>(rng.normal()));
    return x;
  }

  // Row j of the keys, or values, that head h sees.
  int64_t key_row(int64_t b, int64_t h, int64_t j) const { return (b * groups + h / (kHeads / groups)) * kKeys + j; }
  double bias_of(int64_t b, int64_t i, int64_t j) const { return p.rules.bias.data ? bias[(b * kQueries + i) * kKeys + j] : 0.0; }
  bool sees(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (p.rules.mask.data && !mask[h * kKeys + j]) return false;
    if (bias_of(b, i, j) == -kInfinity) return false;
    const int64_t position = p.rules.offset.value_or(key_length[b] - query_length[b]) + i;
    return (!p.rules.causal || j <= position) && (p.rules.left < 0 || j >= position - p.rules.left) &&
           (p.rules.right < 0 || j <= position + p.rules.right);
  }
  // α of one query, in float64.
  std::vector<double> weights(int64_t b, int64_t h, int64_t i) const {
    std::vector<double> w(kKeys, 0.0);
    double sum = 0;
    for (int64_t j = 0; j < key_length[b]; ++j) {
      if (!sees(b, h, i, j)) continue;
      double e = bias_of(b, i, j);
      for (int64_t c = 0; c < kWidth; ++c) {
        e +=
            score[h * kWidth + c] * std::tanh(double(q[((b * kHeads + h) * kQueries + i) * kWidth + c]) + k[key_row(b, h, j) * kWidth + c]);
      }
      sum += w[j] = std::exp(e);
    }
    for (double& x : w) x = sum > 0 ? x / sum : 0;
    return w;
  }
  double factor(int64_t b, int64_t h, int64_t i, int64_t j) const { return factors[((b * kHeads + h) * kQueries + i) * kKeys + j]; }
  // Σ out ∘ dout: what the gradients are of.
  double loss() const {
    double sum = 0;
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t h = 0; h < kHeads; ++h) {
        for (int64_t i = 0; i < query_length[b]; ++i) {
          const std::vector<double> w = weights(b, h, i);
          for (int64_t j = 0; j < kKeys; ++j) {
            for (int64_t c = 0; c < kValues; ++c) {
              sum += w[j] * factor(b, h, i, j) * v[key_row(b, h, j) * kValues + c] * dout[((b * kHeads + h) * kQueries + i) * kValues + c];
            }
          }
        }
      }
    }
    return sum;
  }
};

class AdditiveRules : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (GetParam() == 1) a.p.rules.causal = true;
    if (GetParam() == 2) a.p.rules.left = 1, a.p.rules.right = 1, a.p.rules.offset = 0;
    if (GetParam() == 3 || GetParam() >= 7) a.add_mask();
    if (GetParam() == 4 || GetParam() >= 7) a.add_bias();
    if (GetParam() == 5 || GetParam() >= 7) a.add_dropout();
    if (GetParam() == 6 || GetParam() == 8) a.group_heads();
    if (GetParam() == 8) a.p.rules.causal = true;
  }
  AdditiveCase a;
};
INSTANTIATE_TEST_SUITE_P(All, AdditiveRules, testing::Range(0, 9));

TEST_P(AdditiveRules, OutputAndWeightsAreTheDefinitions) {
  for (const int threads : {1, 2}) {
    std::vector<float> out(kBatch * kHeads * kQueries * kValues, kNaN), w(kBatch * kHeads * kQueries * kKeys, kNaN);
    additive_forward(a.p, a.score.data(), {dense(out.data(), kBatch, kHeads, kQueries, kValues), {}}, {.threads = threads});
    additive_weights(a.p, a.score.data(), dense(w.data(), kBatch, kHeads, kQueries, kKeys), {.threads = threads});
    for (int64_t r = 0; r < kBatch * kHeads * kQueries; ++r) {
      const int64_t b = r / (kHeads * kQueries), h = r / kQueries % kHeads, i = r % kQueries;
      const std::vector<double> expected = i < a.query_length[b] ? a.weights(b, h, i) : std::vector<double>(kKeys, 0.0);
      for (int64_t j = 0; j < kKeys; ++j) {
        EXPECT_NEAR(w[r * kKeys + j], expected[j], 1e-6);
        EXPECT_EQ(w[r * kKeys + j] == 0, expected[j] == 0);
      }
      for (int64_t c = 0; c < kValues; ++c) {
        double mix = 0;
        for (int64_t j = 0; j < kKeys; ++j) mix += expected[j] * a.factor(b, h, i, j) * a.v[a.key_row(b, h, j) * kValues + c];
        EXPECT_NEAR(out[r * kValues + c], mix, 1e-5);
      }
    }
  }
}

TEST_P(AdditiveRules, GradientsAgreeWithFiniteDifferencesOfTheDefinition) {
  std::vector<float> out(a.dout.size()), lse(kBatch * kHeads * kQueries), dq(a.q.size(), kNaN), dk(a.k.size(), kNaN), dv(a.v.size(), kNaN),
      dscore(a.score.size(), kNaN), dbias(a.bias.size(), kNaN);
  const int64_t key_rows = kBatch * a.groups * kKeys;
  dk.resize(key_rows * kWidth), dv.resize(key_rows * kValues);
  const View lse_view = dense(lse.data(), kBatch, kHeads, kQueries, 1), out_view = dense(out.data(), kBatch, kHeads, kQueries, kValues);
  additive_forward(a.p, a.score.data(), {out_view, lse_view});
  Gradient g;
  g.out = out_view;
  g.lse = lse_view;
  g.dout = dense(a.dout.data(), kBatch, kHeads, kQueries, kValues);
  g.dq = dense(dq.data(), kBatch, kHeads, kQueries, kWidth);
  g.dk = dense(dk.data(), kBatch, a.groups, kKeys, kWidth);
  g.dv = dense(dv.data(), kBatch, a.groups, kKeys, kValues);
  if (a.p.rules.bias.data) g.dbias = {dbias.data(), kQueries * kKeys, 0, kKeys, 1};
  additive_backward(a.p, a.score.data(), g, dscore.data(), {.threads = 2});
  const auto compare = [&](std::vector<float>& values, const std::vector<float>& gradient) {
    for (size_t i = 0; i < gradient.size(); i += 7) {
      const float x = values[i];
      if (std::isinf(x)) {
        EXPECT_EQ(gradient[i], 0.0f) << i;
        continue;
      }
      values[i] = x + 1e-3f;
      const double high = a.loss(), step = double(values[i]);
      values[i] = x - 1e-3f;
      const double low = a.loss();
      EXPECT_NEAR(gradient[i], (high - low) / (step - values[i]), 2e-4) << i;
      values[i] = x;
    }
  };
  compare(a.q, dq);
  compare(a.k, dk);
  compare(a.v, dv);
  compare(a.score, dscore);
  if (g.dbias.data) compare(a.bias, dbias);
}

TEST(AdditiveLibrary, WhatItDoesNotKnowIsRefusedInOneLine) {
  const auto message = [](auto change) -> std::string {
    AdditiveCase a;
    change(a);
    std::vector<float> out(a.dout.size());
    try {
      additive_forward(a.p, a.score.data(), {dense(out.data(), kBatch, kHeads, kQueries, kValues), {}});
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(message([](AdditiveCase& a) { a.p.scale = 1.0f; }).find("scale"), std::string::npos);
  EXPECT_NE(message([](AdditiveCase& a) { a.p.k.type = Type::f16; }).find("f32"), std::string::npos);
  EXPECT_EQ(message([](AdditiveCase&) {}), "accepted");
}

}  // namespace
}  // namespace jumok::attention
