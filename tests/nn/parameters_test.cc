#include "nn/parameters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nn/fused_linear.h"

namespace jumok {
namespace {

TEST(ParameterLayout, EntriesDoNotOverlapAndPaddingIsZero) {
  ParameterLayout layout;
  layout.matrix("a", 3, 512);
  layout.vector("b", 5, Initial::kOne);
  layout.matrix("c", 2, 9);
  std::vector<float> block(layout.size(), -7.0f);
  layout.initialise(block.data(), 1);
  std::vector<int> used(block.size());
  for (const auto& e : layout.entries()) {
    for (int64_t r = 0; r < e.parameter.rows; ++r) {
      for (int64_t c = 0; c < e.parameter.columns; ++c) ++used[e.parameter.offset + r * e.parameter.stride + c];
    }
  }
  for (size_t i = 0; i < block.size(); ++i) {
    ASSERT_LE(used[i], 1);
    if (used[i] == 0) {
      ASSERT_EQ(block[i], 0.0f);
    }
  }
  EXPECT_EQ(layout.count(), 3 * 512 + 5 + 2 * 9);
}

TEST(ParameterLayout, FusedLayersLieAdjacentWhateverTheirWidth) {
  for (const int64_t width : {8, 24, 33, 512}) {
    ParameterLayout layout;
    layout.vector("odd", 3);
    const Linear all = make_fused(layout, {"q", "k", "v"}, width, 20);
    EXPECT_EQ(all.weight.rows, 60);
    EXPECT_EQ(all.bias.columns, 60);
    const auto& entries = layout.entries();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(entries[1 + i].parameter.offset, all.weight.offset + 20 * i * all.weight.stride);
      EXPECT_EQ(entries[4 + i].parameter.offset, all.bias.offset + 20 * i);
    }
  }
}

TEST(ParameterLayout, FirstValuesHaveTheirNamedSpreadAndDependOnSeedAndNameOnly) {
  ParameterLayout layout, other;
  layout.matrix("w", 300, 200);
  layout.matrix("e", 400, 100, Initial::kEmbedding);
  other.vector("first", 17);
  other.matrix("w", 300, 200);
  std::vector<float> a(layout.size()), b(other.size()), c(layout.size());
  layout.initialise(a.data(), 1);
  other.initialise(b.data(), 1);
  layout.initialise(c.data(), 2);
  const Parameter w = layout.entries()[0].parameter, e = layout.entries()[1].parameter, w2 = other.entries()[1].parameter;
  EXPECT_EQ(a[w.offset + 5], b[w2.offset + 5]);
  EXPECT_NE(a[w.offset + 5], c[w.offset + 5]);
  const auto deviation = [&](const Parameter& p) {
    double sum = 0;
    for (int64_t r = 0; r < p.rows; ++r) {
      for (int64_t k = 0; k < p.columns; ++k) sum += std::pow(a[p.offset + r * p.stride + k], 2);
    }
    return std::sqrt(sum / static_cast<double>(p.rows * p.columns));
  };
  EXPECT_NEAR(deviation(w), std::sqrt(6.0 / 500) / std::sqrt(3.0), 0.001);  // uniform in ±a has deviation a / √3
  EXPECT_NEAR(deviation(e), 0.1, 0.001);
}

}  // namespace
}  // namespace jumok
