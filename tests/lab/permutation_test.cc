#include "lab/permutation.h"

#include <gtest/gtest.h>

#include <map>

namespace jumok {
namespace {

std::map<std::string, PermutationRow> rows(const PermutationResult& r) {
  std::map<std::string, PermutationRow> by_name;
  for (const PermutationRow& row : r.rows) by_name[row.model] = row;
  return by_name;
}

TEST(Permutation, OnlyTheEncoderWithoutPositionsIsEquivariant) {
  PermutationOptions o;
  o.permutations = 3;
  const auto r = rows(run_permutation(o));
  ASSERT_EQ(r.size(), 5u);
  const PermutationRow& none = r.at("encoder, no positions");
  EXPECT_LT(none.difference, 1e-5 * none.size);  // what rounding leaves after four layers
  EXPECT_LT(none.twins, 1e-5 * none.size);
  EXPECT_TRUE(none.equivariant());
  for (const char* name :
       {"encoder, sinusoidal positions", "encoder, learned positions", "decoder (causal mask), no positions", "recurrent encoder"}) {
    EXPECT_GT(r.at(name).difference, 0.01 * r.at(name).size) << name;
    EXPECT_GT(r.at(name).twins, 0.001 * r.at(name).size) << name;
    EXPECT_FALSE(r.at(name).equivariant()) << name;
  }
}

// "the dog bites the man" and "the man bites the dog": dog and man change places, and nothing else does.
TEST(Permutation, WithoutPositionsWeightsFollowTheWords) {
  PermutationOptions o;
  o.permutations = 1;
  const PermutationResult r = run_permutation(o);
  ASSERT_EQ(r.maps.size(), 4u);
  const auto at = [&](size_t map, size_t row, size_t column) { return r.maps[map].weights[row * 5 + column]; };
  const size_t moved[] = {0, 4, 2, 3, 1};
  double without = 0, with = 0;
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) {
      without = std::max<double>(without, std::abs(at(0, i, j) - at(1, moved[i], moved[j])));
      with = std::max<double>(with, std::abs(at(2, i, j) - at(3, moved[i], moved[j])));
    }
  }
  EXPECT_LT(without, 1e-6);
  EXPECT_GT(with, 1e-3);
}

}  // namespace
}  // namespace jumok
