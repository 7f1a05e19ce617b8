// The experiments that train, at sizes that take moments: what they give, not how good it is.
#include "lab/trained.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "lab/bottleneck.h"
#include "lab/compare.h"
#include "small_plan.h"

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

// "The same time for each" is for training: a checkpoint after every update would take a good part of it, more of a large model's.
TEST(TrainingGround, ATrainingByTimeKeepsFewCheckpointsAndPoints) {
  const LabText text = task_text({Task::kCopy, 1, 2, 1, false}, 200, 4);
  LabRun run;
  run.threads = 1;
  TrainingBudget budget;
  budget.updates = 0;
  budget.seconds = 0.3;
  budget.batch_tokens = 32;
  budget.width = 8;
  const TrainingGround ground(text, budget, run);
  const Trained t = ground.train({"none", "rnn-none", {}}, 0, 1);
  EXPECT_GT(t.updates, 0);
  EXPECT_LE(std::ssize(t.curve), 2 + t.updates / 50);
  for (const auto& entry : std::filesystem::directory_iterator(t.model / "checkpoint")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("snapshot-")) {
      EXPECT_EQ(std::stoi(name.substr(9)) % 50, 0) << name;
    }
  }
}

TEST(Compare, EveryMechanismOfTheTableIsThere) {
  EXPECT_EQ(all_mechanisms(10).size(), 16u);
  EXPECT_THROW(choose_contenders(all_mechanisms(10), {"luong"}), Error);
  CompareOptions o;
  make_small(o);
  const CompareResult r = run_compare(o);
  ASSERT_EQ(r.rows.size(), 16u);
  for (const CompareRow& row : r.rows) {
    const std::string& name = row.trained.contender.name;
    const bool attends = !name.starts_with("none");
    EXPECT_EQ(row.trained.updates, 2) << name;
    EXPECT_GT(row.quality.loss, 0) << name;
    EXPECT_EQ(row.picture.weights.empty(), !attends) << name;
    EXPECT_EQ(std::isnan(row.quality.aer), !attends) << name;
    EXPECT_EQ(row.quality.attention_name.empty(), !attends) << name;
  }
  EXPECT_TRUE(r.rows.back().quality.attention_name.starts_with("layer ")) << r.rows.back().quality.attention_name;
  const std::string html = lab_page(report_of(r));
  EXPECT_NE(html.find("local-p"), std::string::npos);
  EXPECT_TRUE(to_json(r)["mechanisms"][0]["aer"].is_null());
}

// One symbol in, forty out: a reference that the search's own limit would cut.
TEST(TrainingGround, OutputsMayBeAsLongAsTheReferences) {
  LabText text;
  std::string forty = "a";
  for (int i = 1; i < 40; ++i) forty += " a";
  text.source = text.test_source = {"x", "x"};
  text.target = text.test_target = {forty, forty};
  TrainingBudget budget;
  budget.updates = 150;
  budget.batch_tokens = 82;
  budget.width = 16;
  LabRun run;
  run.threads = 1;
  const TrainingGround ground(text, budget, run);
  const Quality q = judge(ground.train({"input feeding", "rnn-luong-dot", {}}, 0, 1).model, text, 1);
  EXPECT_GT(std::count(q.outputs[0].begin(), q.outputs[0].end(), 'a'), 12);
}

// Of two layers and two heads at two steps the one that links the chosen-on pairs best is judged, and no test pair has a say in it.
TEST(Compare, TheAttentionThatIsJudgedIsTheBestOfOtherPairs) {
  LabText text = task_text({Task::kReverse, 3, 6, 1, false}, 400, 40);
  ASSERT_EQ(text.choice.links.size(), 200u);
  LabRun run;
  run.threads = 1;
  TrainingBudget budget;
  budget.updates = 60;
  budget.batch_tokens = 256;
  budget.width = 16;
  budget.settings = {"train.rate=0.01", "decoder.layers=2", "encoder.layers=1", "attention.heads=2"};
  const TrainingGround ground(text, budget, run);
  const std::filesystem::path model = ground.train({"transformer", "transformer-tiny", {}}, 0, 1).model;
  const Quality chosen = judge(model, text, 1);

  const Aligner aligner(model, {1, {}});
  TrialOptions trial;
  trial.judged = text.judged;
  const AttentionChoice best =
      best_trial(aligner.try_attentions(text.choice.source, text.choice.target, text.choice.links, trial)).attention;
  AlignOptions options;
  options.attention = best;
  std::vector<std::vector<AlignmentLink>> links;
  for (const Alignment& a : aligner.align(text.test_source, text.test_target, options)) links.push_back(a.links);
  EXPECT_EQ(chosen.aer, alignment_error_rate(links, text.gold, text.judged).error_rate);
  EXPECT_EQ(chosen.attention, best);
  EXPECT_NE(chosen.attention_name.find(best.step == AttentionStep::kInput ? "input" : "output"), std::string::npos);

  text.choice = {};
  EXPECT_EQ(judge(model, text, 1).attention_name, "layer 0, mean, output");  // the default: the last layer but one
}

// A setting has the last word: what is told is what was trained, and can be trained again.
TEST(Compare, TellsWhatWasTrained) {
  CompareOptions o;
  make_small(o);
  o.only = {"luong dot"};
  o.settings = {"model.width=24", "train.batch-tokens=50"};
  const CompareResult r = run_compare(o);
  EXPECT_EQ(r.width, 24);
  EXPECT_EQ(r.batch_tokens, 50);
  const std::string html = lab_page(report_of(r));
  for (const char* told : {"width 24", "50 target symbols", "model.width=24", "train.batch-tokens=50"}) {
    EXPECT_NE(html.find(told), std::string::npos) << told;
  }
}

// Own text: lines of digits, with true links that make the alignment error rate known whatever the model does.
class OwnText : public testing::Test {
 protected:
  OwnText() {
    std::string lines, all_possible;
    for (int i = 0; i < 40; ++i) lines += std::to_string(i % 7) + " " + std::to_string(i % 5) + (i % 3 == 0 ? "\n" : " 8 9\n");
    for (int i = 0; i < 40; ++i) {
      const int words = i % 3 == 0 ? 2 : 4;
      for (int s = 0; s < words; ++s) {
        for (int t = 0; t < words; ++t) all_possible += fmt::format("{}?{} ", s, t);
      }
      all_possible += "\n";
    }
    files_.source = files_.target = files_.test_source = files_.test_target = write("text", lines);
    possible_ = write("possible", all_possible);
    none_ = write("none", std::string(40, '\n'));
    naacl_ = write("naacl", "1 1 1 S\n2 1 2 P\n");
  }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    write_file(folder_.path() / name, text);
    return folder_.path() / name;
  }
  template <typename Options>
  Options small() const {
    Options o;
    make_small(o);
    o.files = files_;
    o.test_pairs = 9;
    return o;
  }
  double error_rate(const std::filesystem::path& gold) const {
    auto o = small<CompareOptions>();
    o.only = {"none, initial state", "luong dot"};
    o.files.gold = gold;
    const CompareResult r = run_compare(o);
    EXPECT_TRUE(std::isnan(r.rows[0].quality.aer));
    EXPECT_EQ(r.test_pairs, 9);
    return r.rows[1].quality.aer;
  }

  ScratchFolder folder_;
  LabFiles files_;
  std::filesystem::path possible_, none_, naacl_;
};

// AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|): no link is wrong where all are possible and none sure, every one where there are none.
TEST_F(OwnText, TheGoldOfTheUserDecidesTheAlignmentErrorRate) {
  EXPECT_EQ(error_rate(possible_), 0);
  EXPECT_EQ(error_rate(none_), 1);
}

TEST_F(OwnText, GoldIsReadInItsFormAndMustFitTheTests) {
  files_.gold = naacl_;
  LabText text = file_text(files_, 5);
  ASSERT_EQ(text.gold.size(), 5u);
  EXPECT_EQ(text.gold[0].sure, (std::vector<AlignmentLink>{{0, 0}}));
  EXPECT_EQ(text.gold[1].possible, (std::vector<AlignmentLink>{{0, 1}}));
  EXPECT_EQ(text.judged, JudgedLinks::kAll);
  files_.judged = JudgedLinks::kBothAnnotated;
  EXPECT_EQ(file_text(files_, 5).judged, JudgedLinks::kBothAnnotated);
  files_.gold_format = GoldFormat::kPharaoh;
  EXPECT_THROW(file_text(files_, 5), Error);
  files_.gold_format = GoldFormat::kRecognised;
  files_.gold = write("short", "0-0\n");
  EXPECT_THROW(file_text(files_, 5), Error);
  files_.gold = write("beyond", "0-7\n" + std::string(39, '\n'));
  EXPECT_THROW(file_text(files_, 5), Error);
  LabFiles alone;
  alone.gold = none_;
  EXPECT_THROW(file_text(alone, 5), Error);
}

// Forty words of two letters: the more symbols, the more parameters.
TEST_F(OwnText, IsCutAsAsked) {
  std::string words;
  for (int i = 0; i < 40; ++i) {
    for (int bit = 6; bit >= 0; --bit) words += (i >> bit & 1) != 0 ? 'b' : 'a';
    words += '\n';
  }
  files_.source = files_.target = files_.test_source = files_.test_target = write("words", words);
  const auto parameters = [&](const std::string& subwords, int vocabulary) {
    auto o = small<CompareOptions>();
    o.only = {"luong dot"};
    o.subwords = subwords;
    o.vocabulary = vocabulary;
    return run_compare(o).rows[0].trained.parameters;
  };
  const int64_t characters = parameters("char", 8000);
  EXPECT_LT(characters, parameters("unigram", 12));
  EXPECT_LT(parameters("unigram", 12), parameters("word", 8000));
}

TEST_F(OwnText, TheBottlenecksRangesHoldEveryTestLineOnce) {
  const BottleneckResult r = run_bottleneck(small<BottleneckOptions>());
  ASSERT_EQ(r.parts.size(), 1u);
  for (const BottleneckRow& row : r.parts[0].rows) {
    ASSERT_EQ(row.points.size(), 2u);  // there are two lengths only
    EXPECT_EQ(row.points[0].longest, 2);
    EXPECT_EQ(row.points[0].lines, 14);
    EXPECT_EQ(row.points[1].lines, 26);
  }
}

TEST(Bottleneck, FiveRangesHaveAboutAsManyLinesEach) {
  std::vector<int> lengths;
  for (int n = 1; n <= 100; ++n) lengths.push_back(n);
  EXPECT_EQ(even_bins(lengths, 5), (std::vector<int>{20, 40, 60, 80}));
  EXPECT_EQ(even_bins({0, 3, 3, 3, 3, 3, 3, 9}, 5), (std::vector<int>{3}));
  EXPECT_EQ(even_bins({4, 4, 4}, 5), std::vector<int>());
  EXPECT_EQ(even_bins({}, 5), std::vector<int>());
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

TEST(Bottleneck, RangesRise) {
  BottleneckOptions o;
  make_small(o);
  o.bins = {30, 10};
  EXPECT_THROW(run_bottleneck(o), Error);
}

TEST(Bottleneck, EveryMechanismAtEveryLength) {
  BottleneckOptions o;
  o.tasks = {Task::kReverse};
  o.lengths = {2, 4};
  make_small(o);
  const BottleneckResult r = run_bottleneck(o);
  ASSERT_EQ(r.parts.size(), 1u);
  ASSERT_EQ(r.parts[0].rows.size(), 4u);
  for (const BottleneckRow& row : r.parts[0].rows) {
    ASSERT_EQ(row.points.size(), 2u);
    EXPECT_EQ(row.points[0].lines, 3);
    EXPECT_EQ(row.points[1].longest, 4);
  }
  EXPECT_NE(lab_text(report_of(r)).find("Symbols at their place"), std::string::npos);
  o.only = {"transformer"};
  const BottleneckResult one = run_bottleneck(o);
  ASSERT_EQ(one.parts[0].rows.size(), 1u);
  EXPECT_EQ(one.parts[0].rows[0].points[1].exact, r.parts[0].rows[3].points[1].exact);
  o.only = {"luong dot"};
  EXPECT_THROW(check_options(o), Error);
}

}  // namespace
}  // namespace jumok
