#include "lab/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "small_plan.h"

namespace jumok {
namespace {

// Expectations for d_k = 64 and 8 keys, from 200 000 draws of another program. With n draws a mean's standard deviation is σ/√n; four of
// them are allowed (σ of the largest weight below 0.18, of a share 0.5, of Σp(1-p) below 0.25).
TEST(Scale, Gives64WideVectorsTheKnownExpectations) {
  ScaleOptions o;
  o.updates = 0;
  o.widths = {64};
  o.draws = 4000;
  const ScaleResult r = run_scale(o);
  ASSERT_EQ(r.rows.size(), 1u);
  ASSERT_EQ(r.draws, 4000);
  const double four = 4 / std::sqrt(4000.0);
  EXPECT_NEAR(r.rows[0].plain.largest_weight, 0.875, 0.18 * four);
  EXPECT_NEAR(r.rows[0].scaled.largest_weight, 0.360, 0.18 * four);
  EXPECT_NEAR(r.rows[0].plain.saturated, 0.37, 0.5 * four);
  EXPECT_LT(r.rows[0].scaled.saturated, 0.001);
  EXPECT_NEAR(r.rows[0].plain.gradient, 0.177, 0.25 * four);
  EXPECT_NEAR(r.rows[0].scaled.gradient, 0.768, 0.25 * four);
  EXPECT_NEAR(r.rows[0].score_deviation, 8, 0.1);
}

// What the division is for: with it the softmax looks the same at every width, without it ever sharper.
TEST(Scale, OnlyScaledScoresAreTheSameAtEveryWidth) {
  ScaleOptions o;
  o.updates = 0;
  o.widths = {64, 512};
  o.draws = 1500;
  const ScaleResult r = run_scale(o);
  EXPECT_NEAR(r.rows[1].scaled.largest_weight, r.rows[0].scaled.largest_weight, 0.02);
  EXPECT_NEAR(r.rows[1].scaled.gradient, r.rows[0].scaled.gradient, 0.02);
  EXPECT_GT(r.rows[1].plain.largest_weight, r.rows[0].plain.largest_weight + 0.05);
  EXPECT_LT(r.rows[1].plain.gradient, r.rows[0].plain.gradient / 2);
  EXPECT_NEAR(r.rows[1].score_deviation, std::sqrt(512.0), 0.5);
}

TEST(Scale, OneKeyTakesAll) {
  ScaleOptions o;
  o.updates = 0;
  o.widths = {4};
  o.keys = 1;
  o.draws = 50;
  const ScaleResult r = run_scale(o);
  EXPECT_EQ(r.rows[0].plain.largest_weight, 1);
  EXPECT_EQ(r.rows[0].plain.gradient, 0);
  EXPECT_EQ(r.rows[0].plain.entropy, 0);
}

TEST(Scale, ThreadsDoNotChangeTheNumbersButTheSeedDoes) {
  ScaleOptions o;
  o.updates = 0;
  o.widths = {16};
  o.draws = 200;
  o.run.threads = 1;
  const std::string one = to_json(run_scale(o)).dump();
  o.run.threads = 3;
  EXPECT_EQ(to_json(run_scale(o)).dump(), one);
  o.run.seed = 2;
  EXPECT_NE(to_json(run_scale(o)).dump(), one);
}

// The trained half: one thing differs.
TEST(Scale, TheTwoModelsDifferInTheScaleAlone) {
  ScaleOptions o;
  o.widths = {4};
  o.draws = 50;
  make_small(o);
  const ScaleResult r = run_scale(o);
  ASSERT_EQ(r.trained.size(), 2u);
  EXPECT_EQ(r.width, 16);
  EXPECT_EQ(r.trained[0].trained.contender.settings, std::vector<std::string>{"attention.heads=1"});
  EXPECT_EQ(r.trained[1].trained.contender.settings, (std::vector<std::string>{"attention.heads=1", "attention.scale=false"}));
  EXPECT_EQ(r.trained[0].trained.parameters, r.trained[1].trained.parameters);
  // Scores four times as large, first values the same: sharper weights.
  EXPECT_GT(r.trained[1].shapes.encoder.largest, r.trained[0].shapes.encoder.largest);
  EXPECT_LT(r.trained[1].shapes.encoder.entropy, r.trained[0].shapes.encoder.entropy);
  EXPECT_NE(lab_text(report_of(r)).find("Trained with it and without"), std::string::npos);
  EXPECT_EQ(to_json(r)["trained"].size(), 2u);
}

TEST(Scale, BadWidthsAreRefused) {
  ScaleOptions o;
  o.updates = 0;
  o.widths = {0};
  EXPECT_THROW(run_scale(o), Error);
}

}  // namespace
}  // namespace jumok
