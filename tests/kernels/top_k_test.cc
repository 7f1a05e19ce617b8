#include "kernels/top_k.h"

#include "kernels/grid.h"
#include "kernels/ref/top_k.h"

namespace jumok::kernels {
namespace {

class TopKTest : public EachTarget {};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void expect_as_defined(const std::vector<float>& x, int k) {
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<int32_t> columns(k, -1), expected_columns(k, -1);
  std::vector<float> values(k, 77), expected(k, 77);
  const int count = ref::top_k(x.data(), n, k, expected_columns.data(), expected.data());
  EXPECT_EQ(count, std::min<int64_t>(k, n));
  EXPECT_EQ(top_k(x.data(), n, k, columns.data(), values.data()), count);
  EXPECT_EQ(columns, expected_columns) << "k " << k << " of " << n;
  EXPECT_EQ(values, expected);
}

TEST_P(TopKTest, AgreesWithAStableSort) {
  for (const int64_t n : {1, 2, 7, 16, 31, 32, 33, 65, 128, 1000}) {
    for (const int k : {1, 2, 5, 8, 40}) {
      Matrix x(1, n, 0, 0);
      x.fill_normal(n + k);
      expect_as_defined({x.view().data, x.view().data + n}, k);
    }
  }
}

TEST_P(TopKTest, EqualValuesGiveTheLowerColumnFirst) {
  for (const int64_t n : {5, 40, 300}) {
    std::vector<float> x(n);
    Rng rng(n);
    for (float& v : x) v = static_cast<float>(rng.below(3));
    for (const int k : {1, 4, 6}) expect_as_defined(x, k);
    expect_as_defined(std::vector<float>(n, 2.5f), 4);
  }
}

TEST_P(TopKTest, NanNeverWinsNorHidesANeighbour) {
  for (int64_t at = 0; at < 70; ++at) {
    std::vector<float> x(140, std::nanf(""));
    x[at] = 1;
    x[139 - at] = 2;
    expect_as_defined(x, 3);
  }
  expect_as_defined(std::vector<float>(70, -kInfinity), 3);
  expect_as_defined({-kInfinity, std::nanf(""), kInfinity, -1}, 4);
}

TEST_P(TopKTest, NothingToChooseFrom) {
  const float x = 1;
  EXPECT_EQ(top_k(&x, 0, 3, nullptr, nullptr), 0);
  EXPECT_EQ(top_k(&x, 1, 0, nullptr, nullptr), 0);
  expect_as_defined({1.0f}, 1);
}

INSTANTIATE_TEST_SUITE_P(Targets, TopKTest, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace jumok::kernels
