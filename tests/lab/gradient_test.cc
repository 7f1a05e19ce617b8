// What arrives at the states of an encoder.
#include "lab/gradient.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "small_plan.h"

namespace jumok {
namespace {

// At first values the linearised GRU keeps 1/2 + 1/4 a step, the LSTM σ(1) + 1/4, a plain layer of spectral radius 1 at most all; an
// attention weight knows no distance.
TEST(Gradient, FallsWithDistanceOnlyWithoutAttention) {
  GradientOptions o;
  o.length = 60;
  o.sentences = 3;
  const GradientResult r = run_gradient(o);
  const auto row = [&](const std::string& name) {
    for (const GradientRow& g : r.rows) {
      if (g.name == name) return g;
    }
    ADD_FAILURE() << name;
    return GradientRow{};
  };
  EXPECT_NEAR(row("none, GRU").decay, 0.75, 0.06);  // of the slowest direction: the first steps lose more
  EXPECT_NEAR(row("none, LSTM").decay, 0.981, 0.03);
  EXPECT_LT(row("none, tanh").decay, 1);
  EXPECT_LT(row("none, GRU").kept, 1e-5);
  for (const char* name : {"bahdanau, GRU", "luong, GRU", "transformer"}) {
    EXPECT_GT(row(name).kept, 0.02) << name;
    EXPECT_NEAR(row(name).decay, 1, 0.05) << name;
    for (const double n : row(name).norms) EXPECT_GT(n, 0) << name;
  }
}

// A later output word is further from every source word by its steps, and its gradient is that of its own loss alone.
TEST(Gradient, ALaterWordIsFurtherAway) {
  GradientOptions o;
  o.length = 20;
  o.sentences = 2;
  const GradientResult first = run_gradient(o);
  o.word = 8;
  const GradientResult later = run_gradient(o);
  EXPECT_EQ(later.rows[2].name, "none, GRU");
  EXPECT_LT(later.rows[2].norms.front(), 0.3 * first.rows[2].norms.front());  // 0.75^7 = 0.13 by theory
  EXPECT_GT(later.rows[2].norms.front(), 0.03 * first.rows[2].norms.front());
  EXPECT_EQ(later.rows[5].name, "transformer");
  EXPECT_GT(later.rows[5].norms.front(), 0.5 * first.rows[5].norms.front());
  o.word = 21;
  EXPECT_THROW(run_gradient(o), Error);
}

}  // namespace
}  // namespace jumok
