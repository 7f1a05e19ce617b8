#include "gemm/gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"

namespace jumok::gemm {
namespace {

struct Matrix {
  int64_t rows, columns, stride;
  std::vector<float> values;
  Matrix(int64_t r, int64_t c, int64_t s, uint64_t seed) : rows(r), columns(c), stride(s), values(r * s + 1) {
    Rng rng(seed);
    for (auto& v : values) v = static_cast<float>(rng.normal());
  }
  Rows view() { return {values.data(), rows, columns, stride}; }
  float at(int64_t r, int64_t c) const { return values[r * stride + c]; }
};

// |error| of a float sum of k products is at most about k·eps·Σ|ab|; f64 holds the truth.
void expect_product(const Matrix& c, const Matrix& before, bool accumulate, int64_t k, auto term) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      double sum = accumulate ? before.at(i, j) : 0, magnitude = std::abs(sum);
      for (int64_t x = 0; x < k; ++x) {
        const double t = term(i, j, x);
        sum += t;
        magnitude += std::abs(t);
      }
      ASSERT_NEAR(c.at(i, j), sum, (k + 2) * 1.2e-7 * magnitude + 1e-30) << "at " << i << ", " << j;
    }
  }
}

TEST(Gemm, ProductsEqualDoubleReferenceForAnyShapeAndStride) {
  for (const int64_t m : {0, 1, 3, 4, 5, 11, 12, 13, 145, 200}) {
    for (const int64_t n : {1, 7, 33}) {
      for (const int64_t k : {0, 1, 5, 64}) {
        for (const bool accumulate : {false, true}) {
          Matrix a(m, k, k + 3, 1), b(n, k, k + 1, 2), c(m, n, n + 2, 3), before = c;
          for (const Backend backend : {Backend::kSgemm, Backend::kMatmul}) {
            c = before;
            multiply_nt(a.view(), b.view(), c.view(), accumulate, backend);
            expect_product(c, before, accumulate, k, [&](int64_t i, int64_t j, int64_t x) { return double(a.at(i, x)) * b.at(j, x); });
          }
          Matrix bn(k, n, n + 1, 4);
          c = before;
          multiply_nn(a.view(), bn.view(), c.view(), accumulate);
          expect_product(c, before, accumulate, k, [&](int64_t i, int64_t j, int64_t x) { return double(a.at(i, x)) * bn.at(x, j); });
          Matrix at(k, m, m + 2, 5);
          c = before;
          multiply_tn(at.view(), bn.view(), c.view(), accumulate);
          expect_product(c, before, accumulate, k, [&](int64_t i, int64_t j, int64_t x) { return double(at.at(x, i)) * bn.at(x, j); });
        }
      }
    }
  }
}

// The promise under batch-independent translation: whatever stands around a row, its bits stay.
TEST(Gemm, BitsOfARowDependNeitherOnTheNumberOfRowsNorOnItsPlace) {
  for (const auto& [n, k] :
       {std::pair<int64_t, int64_t>{128, 128}, {384, 128}, {256, 1024}, {2048, 512}, {33, 70}, {1000, 128}, {1100, 256}}) {
    Matrix a(300, k, k, 1), b(n, k, k, 2), all(300, n, n, 3);
    multiply_nt(a.view(), b.view(), all.view());
    for (int64_t m = 1; m <= 300; m += (m < 150 || n < 400 ? 1 : 23)) {
      for (const int64_t begin : {int64_t{0}, 300 - m}) {
        Matrix part(m, n, n, 4);
        multiply_nt({a.view().row(begin), m, k, k}, b.view(), part.view());
        ASSERT_EQ(0, std::memcmp(part.values.data(), all.view().row(begin), m * n * sizeof(float)))
            << m << " rows from " << begin << ", N " << n << ", K " << k;
      }
    }
  }
}

// oneDNN would share the work among as many threads as the caller's OpenMP has, and sum otherwise for each number of them.
TEST(Gemm, BitsDoNotDependOnTheCallersThreadsWhichStayAsTheyWere) {
  Matrix a(143, 200, 200, 1), b(700, 200, 200, 2), c(143, 700, 700, 3), other = c;
  Matrix g(143, 700, 700, 4), dx(143, 200, 200, 5), other_dx = dx, dw(700, 200, 200, 6), other_dw = dw;
  const auto run = [&](int threads, Matrix& forward, Matrix& input, Matrix& weight) {
    omp_set_num_threads(threads);
    multiply_nt(a.view(), b.view(), forward.view());
    multiply_nn(g.view(), b.view(), input.view());
    multiply_tn(g.view(), a.view(), weight.view());
    EXPECT_EQ(omp_get_max_threads(), threads);
  };
  run(1, c, dx, dw);
  for (const int threads : {2, 3, 5}) {
    run(threads, other, other_dx, other_dw);
    EXPECT_EQ(c.values, other.values) << threads << " threads";
    EXPECT_EQ(dx.values, other_dx.values) << threads << " threads";
    EXPECT_EQ(dw.values, other_dw.values) << threads << " threads";
  }
}

}  // namespace
}  // namespace jumok::gemm
