// The definition of attention under every rule against finite differences of every input.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/rng.h"
#include "kernels/ref/attention.h"

namespace jumok::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Inputs {
  static constexpr int64_t kWidth = 3, kValueWidth = 2;
  int64_t queries, keys;
  std::vector<double> q, k, v, bias, dout, kept;
  std::vector<uint8_t> allowed;

  Inputs(int64_t t, int64_t s, const std::function<bool(int64_t, int64_t)>& rule) : queries(t), keys(s) {
    Rng rng(17);
    const auto normal = [&](std::vector<double>& x, int64_t n) {
      for (int64_t i = 0; i < n; ++i) x.push_back(rng.normal());
    };
    normal(q, t * kWidth);
    normal(k, s * kWidth);
    normal(v, s * kValueWidth);
    normal(bias, t * s);
    normal(dout, t * kValueWidth);
    for (int64_t n = 0; n < t * s; ++n) {
      allowed.push_back(rule(n / s, n % s));
      kept.push_back(n % 3 == 1 ? 0.0 : 1.5);
      if (n % 7 == 3) bias[static_cast<size_t>(n)] = -kInfinity;
    }
  }
  ref::AttentionProblem problem(bool dropout) const {
    ref::AttentionProblem in{queries, keys, kWidth, kValueWidth, q.data(), k.data(), v.data(), 1 / std::sqrt(3.0)};
    in.kept = dropout ? kept.data() : nullptr;
    in.allowed = allowed.data();
    in.bias = bias.data();
    return in;
  }
  // loss = Σ dout ∘ out
  double loss(bool dropout) const {
    std::vector<double> weights(allowed.size()), out(dout.size()), lse(static_cast<size_t>(queries));
    ref::attention_forward(problem(dropout), {weights.data(), out.data(), lse.data()});
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += out[i] * dout[i];
    return sum;
  }
};

void check_differences(Inputs in, bool dropout) {
  std::vector<double> dq(in.q.size()), dk(in.k.size()), dv(in.v.size()), dbias(in.bias.size());
  ref::attention_backward(in.problem(dropout), in.dout.data(), dq.data(), dk.data(), dv.data(), dbias.data());
  for (auto [x, dx] : {std::pair{&in.q, &dq}, {&in.k, &dk}, {&in.v, &dv}, {&in.bias, &dbias}}) {
    for (size_t i = 0; i < x->size(); ++i) {
      const double at = (*x)[i], step = 1e-5;
      (*x)[i] = at + step;
      const double above = in.loss(dropout);
      (*x)[i] = at - step;
      const double below = in.loss(dropout);
      (*x)[i] = at;
      EXPECT_NEAR((*dx)[i], (above - below) / (2 * step), 1e-8) << i;
    }
  }
}

TEST(AttentionDefinition, GradientsUnderEveryRuleAreThoseOfFiniteDifferences) {
  const std::vector<std::function<bool(int64_t, int64_t)>> rules = {
      [](int64_t, int64_t) { return true; },
      [](int64_t i, int64_t j) { return j <= i + 1; },                // causal, an offset of 1
      [](int64_t i, int64_t j) { return j >= i - 1 && j <= i + 2; },  // a window
      [](int64_t i, int64_t j) { return (i * 5 + j * 3) % 4 != 0; },  // holes
      [](int64_t i, int64_t j) { return i != 2 && j != 1; },          // a query and a key that nothing reaches
  };
  for (const auto& rule : rules) {
    for (bool dropout : {false, true}) {
      check_differences(Inputs(4, 5, rule), dropout);
      check_differences(Inputs(5, 3, rule), dropout);
      check_differences(Inputs(1, 1, rule), dropout);
    }
  }
}

}  // namespace
}  // namespace jumok::kernels
