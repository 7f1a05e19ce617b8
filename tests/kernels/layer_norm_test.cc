#include "kernels/layer_norm.h"

#include "kernels/golden.h"
#include "kernels/grid.h"
#include "kernels/ref/layer_norm.h"

namespace jumok::kernels {
namespace {

class LayerNormTest : public EachTarget {};

constexpr int64_t kRows = 6;  // one group of four and a rest
constexpr uint32_t kKeys[kRows] = {21, 22, 23, 24, 25, 26};

// Everything a call reads and writes, filled alike for the kernel and for its definition.
struct Problem {
  Matrix x, f, gamma, beta, s, y, dy, ds, dx, df, dgamma, dbeta;
  std::vector<float> mean = std::vector<float>(kRows), rstd = std::vector<float>(kRows);

  Problem(int64_t n, int64_t gap, int64_t offset)
      : x(kRows, n, gap, offset),
        f(kRows, n, 0, (offset + 1) % 4),
        gamma(1, n, 0, offset),
        beta(1, n, 0, 3),
        s(kRows, n, gap, 1),
        y(kRows, n, 2, offset),
        dy(kRows, n, gap, offset),
        ds(kRows, n, 1, 2),
        dx(kRows, n, gap, 0),
        df(kRows, n, 0, offset),
        dgamma(1, n, 0, 1),
        dbeta(1, n, 0, offset) {
    uint64_t key = 1;
    for (Matrix* m : {&x, &f, &gamma, &beta, &s, &y, &dy, &ds, &dx, &df, &dgamma, &dbeta}) m->fill_normal(key++);
  }
  AddNorm in(bool branch, float rate) {
    AddNorm a{.x = x.view(), .gamma = gamma.view().data, .beta = beta.view().data, .dropout = {rate, 4, kKeys}};
    if (branch) a.f = f.view();
    return a;
  }
  bool gaps_untouched() {
    bool all = true;
    for (Matrix* m : {&x, &f, &gamma, &beta, &s, &y, &dy, &ds, &dx, &df, &dgamma, &dbeta}) all = all && m->gaps_untouched();
    return all;
  }
};

ConstRows vector_of(const std::vector<float>& v) { return {v.data(), 1, static_cast<int64_t>(v.size()), static_cast<int64_t>(v.size())}; }

TEST_P(LayerNormTest, ValuesAndGradientsOfPyTorch) {
  Matrix x = matrix_of(golden::norm_x, 5), f = matrix_of(golden::norm_f, 5), gamma = matrix_of(golden::norm_gamma, 5);
  Matrix beta = matrix_of(golden::norm_beta, 5), dy = matrix_of(golden::norm_dy, 5), ds = matrix_of(golden::norm_ds, 5);
  Matrix s(3, 5, 0, 0), y(3, 5, 0, 1), dx(3, 5, 0, 2), df(3, 5, 0, 3), dgamma(1, 5, 0, 0), dbeta(1, 5, 0, 0);
  float mean[3], rstd[3];
  const AddNorm in{.x = x.view(), .f = f.view(), .gamma = gamma.view().data, .beta = beta.view().data};
  add_norm_forward(in, s.view(), y.view(), mean, rstd);
  EXPECT_TRUE(close(y.view(), matrix_of(golden::norm_y, 5).view(), 1e-6, 1e-6));
  dgamma.fill(0), dbeta.fill(0);
  add_norm_backward(
      in, s.view(), mean, rstd,
      {.dy = dy.view(), .ds = ds.view(), .dx = dx.view(), .df = df.view(), .dgamma = dgamma.view().data, .dbeta = dbeta.view().data});
  EXPECT_TRUE(close(dx.view(), matrix_of(golden::norm_dx, 5).view(), 2e-6, 2e-6));
  EXPECT_TRUE(close(df.view(), matrix_of(golden::norm_dx, 5).view(), 2e-6, 2e-6));
  EXPECT_TRUE(close(dgamma.view(), matrix_of(golden::norm_dgamma, 5).view(), 1e-6, 1e-6));
  EXPECT_TRUE(close(dbeta.view(), matrix_of(golden::norm_dbeta, 5).view(), 1e-6, 1e-6));
}

TEST_P(LayerNormTest, ForwardAgreesWithTheDefinition) {
  for (const int64_t n : lengths()) {
    for (const bool branch : {false, true}) {
      for (const float rate : {0.0f, 0.3f}) {
        Problem p(n, n % 3, n % 4), q(n, 0, 0);
        ref::add_norm_forward(q.in(branch, rate), q.s.view(), q.y.view(), q.mean.data(), q.rstd.data());
        add_norm_forward(p.in(branch, rate), p.s.view(), p.y.view(), p.mean.data(), p.rstd.data());
        EXPECT_TRUE(close(p.s.view(), q.s.view(), 2 * kEpsilon, 2 * kEpsilon));
        // A row of one or two columns may have next to no variance: 1/sqrt(var + eps) then multiplies rounding by up to 300.
        const double slack = n <= 4 ? 1e-3 : 20 * kEpsilon;
        EXPECT_TRUE(close(p.y.view(), q.y.view(), slack, slack)) << n << " columns";
        EXPECT_TRUE(p.gaps_untouched());
        if (n == 0) continue;
        EXPECT_TRUE(close(vector_of(p.mean), vector_of(q.mean), 4 * kEpsilon, 4 * kEpsilon));
        EXPECT_TRUE(close(vector_of(p.rstd), vector_of(q.rstd), slack, 0));
      }
    }
  }
}

TEST_P(LayerNormTest, ALargeMeanDoesNotDrownTheVariance) {
  Matrix x(1, 64, 0, 0), gamma(1, 64, 0, 0), beta(1, 64, 0, 0), y(1, 64, 0, 0);
  for (int64_t c = 0; c < 64; ++c) x.at(0, c) = c % 2 ? 4097 : 4095;
  add_norm_forward({.x = x.view(), .gamma = gamma.fill(1).view().data, .beta = beta.fill(0).view().data}, {}, y.view(), nullptr, nullptr);
  for (int64_t c = 0; c < 64; ++c) EXPECT_NEAR(y.at(0, c), c % 2 ? 1 : -1, 1e-5);
}

TEST_P(LayerNormTest, TheSumMayLieInXOrFOrNowhere) {
  for (const int64_t n : {5, 32, 67}) {
    for (const bool branch : {false, true}) {
      Problem p(n, 1, 1);
      add_norm_forward(p.in(branch, 0.3f), p.s.view(), p.y.view(), nullptr, nullptr);
      const auto expect_same = [&](Problem& q, Rows s) {
        add_norm_forward(q.in(branch, 0.3f), s, q.y.view(), q.mean.data(), q.rstd.data());
        EXPECT_TRUE(same_bits(q.y.view(), p.y.view()));
        if (s.data) {
          EXPECT_TRUE(same_bits(s, p.s.view()));
        }
        EXPECT_TRUE(q.gaps_untouched());
      };
      Problem in_x(n, 1, 1), in_f(n, 1, 1), nowhere(n, 1, 1);
      expect_same(in_x, in_x.x.view());
      if (branch) expect_same(in_f, in_f.f.view());
      expect_same(nowhere, {});
    }
  }
}

// Every combination of what the backward is given and asked for.
struct Wanted {
  bool ds, dx, df, accumulate_x, accumulate_f, parameters;
  explicit Wanted(int bits)
      : ds(bits & 1), dx(bits & 2), df(bits & 4), accumulate_x(bits & 8), accumulate_f(bits & 16), parameters(bits & 32) {}
};

AddNormGradient gradient_of(Problem& p, const Wanted& w) {
  AddNormGradient g{.dy = p.dy.view(), .accumulate_x = w.accumulate_x, .accumulate_f = w.accumulate_f};
  if (w.ds) g.ds = p.ds.view();
  if (w.dx) g.dx = p.dx.view();
  if (w.df) g.df = p.df.view();
  if (w.parameters) g.dgamma = p.dgamma.view().data, g.dbeta = p.dbeta.view().data;
  return g;
}

void expect_gradients_close(Problem& p, Problem& q, double slack) {
  EXPECT_TRUE(close(p.dx.view(), q.dx.view(), slack, slack));
  EXPECT_TRUE(close(p.df.view(), q.df.view(), slack, slack));
  EXPECT_TRUE(close(p.dgamma.view(), q.dgamma.view(), 20 * kEpsilon, 20 * kEpsilon));
  EXPECT_TRUE(close(p.dbeta.view(), q.dbeta.view(), 20 * kEpsilon, 20 * kEpsilon));
  EXPECT_TRUE(p.gaps_untouched());
}

TEST_P(LayerNormTest, BackwardAgreesWithTheDefinition) {
  for (const int64_t n : lengths()) {
    for (int bits = 0; bits < 64; bits += n == 17 || n == 64 ? 1 : 9) {
      for (const float rate : {0.0f, 0.3f}) {
        Problem p(n, n % 3, n % 4), q(n, 0, 0);
        // The same plausible mean and rstd for both, so that only the backward is compared.
        for (int64_t r = 0; r < kRows; ++r) p.mean[r] = q.mean[r] = 0.1f * static_cast<float>(r), p.rstd[r] = q.rstd[r] = 0.9f;
        ref::add_norm_backward(q.in(true, rate), q.s.view(), q.mean.data(), q.rstd.data(), gradient_of(q, Wanted(bits)));
        add_norm_backward(p.in(true, rate), p.s.view(), p.mean.data(), p.rstd.data(), gradient_of(p, Wanted(bits)));
        SCOPED_TRACE(::testing::Message() << n << " columns, combination " << bits << ", rate " << rate);
        expect_gradients_close(p, q, 40 * kEpsilon);
      }
    }
  }
}

TEST_P(LayerNormTest, ARowDoesNotDependOnTheOthers) {
  Problem all(67, 1, 1), one(67, 1, 1);
  const AddNorm in = all.in(true, 0.3f);
  add_norm_forward(in, all.s.view(), all.y.view(), all.mean.data(), all.rstd.data());
  add_norm_backward(in, all.s.view(), all.mean.data(), all.rstd.data(), gradient_of(all, Wanted(63)));
  for (int64_t r = 0; r < kRows; ++r) {
    const auto row = [r](Matrix& m) { return Rows{m.view().row(r), 1, 67, m.view().stride}; };
    AddNorm alone = one.in(true, 0.3f);
    alone.x = row(one.x), alone.f = row(one.f), alone.dropout.row_keys += r;
    add_norm_forward(alone, row(one.s), row(one.y), &one.mean[r], &one.rstd[r]);
    AddNormGradient g = gradient_of(one, Wanted(63));
    g.dy = row(one.dy), g.ds = row(one.ds), g.dx = row(one.dx), g.df = row(one.df);
    add_norm_backward(alone, row(one.s), &one.mean[r], &one.rstd[r], g);
  }
  for (const auto& [a, b] : {std::pair{&all.y, &one.y}, {&all.s, &one.s}, {&all.dx, &one.dx}, {&all.df, &one.df}}) {
    EXPECT_TRUE(same_bits(a->view(), b->view()));
  }
  // Row after row, the parameters' gradients add up in the same order as in one call.
  EXPECT_TRUE(same_bits(all.dgamma.view(), one.dgamma.view()));
  EXPECT_TRUE(same_bits(all.dbeta.view(), one.dbeta.view()));
}

TEST_P(LayerNormTest, NoRowsNoWrites) {
  Matrix none(0, 8, 0, 0), gamma(1, 8, 0, 0), beta(1, 8, 0, 0);
  const AddNorm in{.x = none.view(), .f = none.view(), .gamma = gamma.fill(1).view().data, .beta = beta.fill(2).view().data};
  add_norm_forward(in, none.view(), none.view(), nullptr, nullptr);
  add_norm_backward(in, none.view(), nullptr, nullptr,
                    {.dy = none.view(), .dx = none.view(), .dgamma = gamma.view().data, .dbeta = beta.view().data});
  for (int64_t c = 0; c < 8; ++c) EXPECT_EQ(gamma.at(0, c) + beta.at(0, c), 3);
}

INSTANTIATE_TEST_SUITE_P(Targets, LayerNormTest, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace jumok::kernels
