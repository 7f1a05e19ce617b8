#include "lab/complexity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "lab/timing.h"

namespace jumok {
namespace {

TEST(Timing, APowerLawIsFoundAgain) {
  const PowerLaw law = fit_power({1, 2, 4, 8}, {3, 12, 48, 192});  // 3 x²
  EXPECT_NEAR(law.exponent, 2, 1e-12);
  EXPECT_NEAR(law.factor, 3, 1e-12);
  EXPECT_TRUE(std::isnan(fit_power({2, 2}, {1, 1}).exponent));
}

TEST(Timing, ALineIsFoundAgain) {
  const Line line = fit_line({1, 2, 5}, {7, 9, 15});
  EXPECT_NEAR(line.base, 5, 1e-12);
  EXPECT_NEAR(line.slope, 2, 1e-12);
}

TEST(Timing, UpperTakesTheLastOnes) {
  EXPECT_EQ(upper({1, 2, 3}, 2), (std::vector<double>{2, 3}));
  EXPECT_EQ(upper({1}, 3), std::vector<double>{1});
}

ComplexityOptions small() {
  ComplexityOptions o;
  o.lengths = {4, 9};
  o.widths = {8, 16};
  o.width = 8;
  o.length = 4;
  o.seconds = 0;
  return o;
}

TEST(Complexity, AKernelOfOneReachesNobodyHoweverDilated) {
  ComplexityOptions o = small();
  o.kernel = 1;
  EXPECT_EQ(run_complexity(o).layers[3].path_formula, "n/k");
}

// Vaswani 2017, table 1, at n = 9, k = 3.
TEST(Complexity, StepsAndPathsAreThoseOfTheTable) {
  const ComplexityResult r = run_complexity(small());
  ASSERT_EQ(r.layers.size(), 4u);
  for (const size_t attention : {0, 1}) {
    EXPECT_EQ(r.layers[attention].steps, 1);
    EXPECT_EQ(r.layers[attention].path, 1);
  }
  EXPECT_EQ(r.layers[2].steps, 9);
  EXPECT_EQ(r.layers[2].path, 9);
  EXPECT_EQ(r.layers[3].steps, 1);
  EXPECT_EQ(r.layers[3].path, 3);
  EXPECT_NE(r.layers[3].path_formula.find("log_k n = 2"), std::string::npos);
  for (const LayerCost& c : r.layers) {
    EXPECT_EQ(c.seconds_by_length.size(), 2u);
    EXPECT_EQ(c.seconds_by_width.size(), 2u);
    for (const double s : c.seconds_by_length) EXPECT_GT(s, 0);
    EXPECT_TRUE(std::isfinite(c.fitted_n));
  }
  EXPECT_EQ(r.products.size(), 11u);
}

TEST(Complexity, SizesThatDoNotRiseAreRefused) {
  ComplexityOptions o = small();
  o.lengths = {8, 8};
  EXPECT_THROW(run_complexity(o), Error);
  o.lengths = {8};
  EXPECT_THROW(run_complexity(o), Error);
}

}  // namespace
}  // namespace jumok
