// The experiments that train, at sizes that take moments: what they give, not how good it is.
#include "lab/trained.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lab/bottleneck.h"
#include "lab/compare.h"
#include "lab/gradient.h"
#include "lab/heads.h"

namespace jumok {
namespace {

// A short source, long enough to learn to copy single digits in some updates.
TEST(TrainingGround, AModelLearnsAndIsJudged) {
  const LabText text = task_text({Task::kCopy, 1, 2, 1, false}, 2000, 40);
  LabRun run;
  run.threads = 1;
  std::filesystem::path folder;
  {
    TrainingBudget budget;
    budget.updates = 120;
    budget.batch_tokens = 256;
    budget.width = 32;
    budget.settings = {"train.rate=0.01", "train.warm-up=30"};
    const TrainingGround ground(text, budget, run);
    const Trained t = ground.train({"luong dot", "rnn-luong-dot", {}}, 0, 1);
    folder = t.model;
    EXPECT_EQ(t.updates, 120);
    EXPECT_GT(t.parameters, 1000);
    EXPECT_GT(t.tokens_per_second, 0);
    EXPECT_GT(t.activation_bytes, 10000);
    ASSERT_GE(t.curve.size(), 10u);
    EXPECT_LT(t.curve.back().loss, 0.5 * t.curve.front().loss);
    const Quality q = judge(t.model, text, 1);
    EXPECT_EQ(q.outputs.size(), 40u);
    EXPECT_LT(q.loss, 1.5);
    EXPECT_GE(q.exact, 0.3);
    EXPECT_GE(q.aer, 0);
    EXPECT_LE(q.aer, 1);
    const AlignmentPicture p = alignment_picture(t.model, "3 1", "3 1");
    EXPECT_EQ(p.weights.size(), 4u);
    EXPECT_EQ(p.source_words, (std::vector<std::string>{"3", "1"}));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));  // the scratch folder is gone
}

TEST(Compare, EveryMechanismOfTheTableIsThere) {
  EXPECT_EQ(all_mechanisms(10).size(), 13u);
  EXPECT_THROW(choose_mechanisms({"luong"}, 10), Error);
  CompareOptions o;
  o.updates = 2;
  o.width = 16;
  o.batch_tokens = 64;
  o.training_pairs = 40;
  o.test_pairs = 3;
  o.run.threads = 1;
  const CompareResult r = run_compare(o);
  ASSERT_EQ(r.rows.size(), 13u);
  for (const CompareRow& row : r.rows) {
    const std::string& name = row.trained.contender.name;
    const bool attends = !name.starts_with("none");
    EXPECT_EQ(row.trained.updates, 2) << name;
    EXPECT_GT(row.quality.loss, 0) << name;
    EXPECT_EQ(row.picture.weights.empty(), !attends) << name;
    EXPECT_EQ(std::isnan(row.quality.aer), !attends) << name;
  }
  const std::string html = lab_page(report_of(r));
  EXPECT_NE(html.find("local-p"), std::string::npos);
  EXPECT_TRUE(to_json(r)["mechanisms"][0]["aer"].is_null());
}

TEST(Bottleneck, WordsInPlaceByHand) {
  EXPECT_DOUBLE_EQ(words_in_place("1 2 3", "1 2 3"), 1);
  EXPECT_DOUBLE_EQ(words_in_place("1 3 2", "1 2 3 4"), 0.25);
  EXPECT_DOUBLE_EQ(words_in_place("", "1 2"), 0);
  EXPECT_DOUBLE_EQ(words_in_place("", ""), 1);
}

TEST(Bottleneck, LinesCountAtTheirLength) {
  LabText text;
  text.test_source = {"a", "b c", "d e f", ""};
  text.test_target = {"1", "2 3", "4 5 6", ""};
  const std::vector<std::string> outputs = {"1", "2 4", "4 5 6", ""};
  const LengthPoint p = quality_at(text, outputs, 1, 2);
  EXPECT_EQ(p.lines, 2);
  EXPECT_DOUBLE_EQ(p.exact, 0.5);
  EXPECT_DOUBLE_EQ(p.symbols, 0.75);
  EXPECT_EQ(quality_at(text, outputs, 7, 9).lines, 0);
}

TEST(Bottleneck, EveryMechanismAtEveryLength) {
  BottleneckOptions o;
  o.tasks = {Task::kReverse};
  o.lengths = {2, 4};
  o.updates = 2;
  o.width = 16;
  o.batch_tokens = 64;
  o.training_pairs = 40;
  o.test_pairs = 3;
  o.run.threads = 1;
  const BottleneckResult r = run_bottleneck(o);
  ASSERT_EQ(r.parts.size(), 1u);
  ASSERT_EQ(r.parts[0].rows.size(), 4u);
  for (const BottleneckRow& row : r.parts[0].rows) {
    ASSERT_EQ(row.points.size(), 2u);
    EXPECT_EQ(row.points[0].lines, 3);
    EXPECT_EQ(row.points[1].longest, 4);
  }
  EXPECT_NE(lab_text(report_of(r)).find("Symbols at their place"), std::string::npos);
}

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

// Two heads on two keys by hand: (1/2, 1/2) has 1 bit, (1, 0) none; their divergence is H(3/4, 1/4) - 1/2 = 0.3113 bits.
TEST(Heads, EntropyAndDivergenceByHand) {
  HeadSums sums;
  sums.add({{0.5f, 0.5f}, {1, 0}}, 2);
  const HeadShape s = sums.mean();
  EXPECT_NEAR(s.entropy, 0.5, 1e-6);
  EXPECT_NEAR(s.divergence, 0.311278, 1e-6);
  HeadSums apart;
  apart.add({{0, 1}, {1, 0}}, 2);
  EXPECT_NEAR(apart.mean().divergence, 1, 1e-6);
  HeadSums alone;
  alone.add({{0.25f, 0.25f, 0.25f, 0.25f}}, 4);
  EXPECT_NEAR(alone.mean().entropy, 2, 1e-6);
  EXPECT_NEAR(alone.mean().possible, 2, 1e-6);
  EXPECT_EQ(alone.mean().divergence, 0);
}

TEST(Heads, AllHaveTheSameParameters) {
  HeadsOptions o;
  o.heads = {1, 4};
  o.updates = 2;
  o.width = 16;
  o.batch_tokens = 64;
  o.training_pairs = 40;
  o.test_pairs = 3;
  o.run.threads = 1;
  const HeadsResult r = run_heads(o);
  ASSERT_EQ(r.rows.size(), 2u);
  EXPECT_EQ(r.rows[0].trained.parameters, r.rows[1].trained.parameters);
  for (const HeadsRow& row : r.rows) {
    for (const HeadShape& s : {row.encoder, row.decoder, row.source}) {
      EXPECT_GT(s.entropy, 0);
      EXPECT_LE(s.entropy, s.possible + 1e-6);
    }
  }
  EXPECT_EQ(r.rows[0].source.divergence, 0);
  EXPECT_GT(r.rows[1].source.divergence, 0);
}

}  // namespace
}  // namespace jumok
