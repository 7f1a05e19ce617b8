// Whole training runs of a language model, tiny ones, on lines that count up: "7 8 9 0 1 2 …".
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "digit_task.h"
#include "jumok/generator.h"
#include "text/lines.h"

namespace jumok {
namespace {

// `count` numbers from `first`, modulo 10.
std::string counting(int first, int count) {
  std::string line;
  for (int i = 0; i < count; ++i) line += (i > 0 ? " " : "") + std::to_string((first + i) % 10);
  return line;
}

class LanguageModelRun : public testing::Test {
 protected:
  LanguageModelRun() {
    std::vector<std::string> train, valid;
    for (int i = 0; i < 120; ++i) train.push_back(counting(i, 8));
    for (int i = 0; i < 10; ++i) valid.push_back(counting(i, 8));
    write_lines(folder_ / "train", train);
    write_lines(folder_ / "valid", valid);
  }
  TrainOptions options(const std::string& model) {
    TrainOptions o;
    o.text = folder_ / "train";
    o.valid_text = folder_ / "valid";
    o.model = folder_ / model;
    o.preset = "lm-tiny";
    o.settings = {"decoder.layers=1", "model.width=32",         "attention.heads=2", "feed-forward.width=48",    "positions.max=16",
                  "train.rate=0.01",  "train.warm-up=20",       "train.dropout=0",   "train.max-length=15",      "validate.every=20",
                  "average.every=10", "train.batch-tokens=200", "average.last=3",    "train.micro-batch-rows=64"};
    o.subwords = "word";
    o.vocabulary = 20;
    o.max_updates = 80;
    o.threads = 2;
    o.log = [this](LogLevel, const std::string& text) { said_.push_back(text); };
    return o;
  }
  int64_t said(const std::string& part) const {
    return std::count_if(said_.begin(), said_.end(), [&](const std::string& s) { return s.find(part) != std::string::npos; });
  }

  TemporaryFolder folder_;
  std::vector<std::string> said_;
};

TEST_F(LanguageModelRun, LearnsToCountAndGoesOnWithIt) {
  const TrainOptions o = options("m");
  const TrainResult result = train(o);
  // One of ten first numbers, then no choice: log 10 over 9 symbols.
  EXPECT_NEAR(result.best_score, std::log(10.0) / 9, 0.05);
  const Generator generator(o.model, {.threads = 1, .log = {}});
  std::vector<std::string> prompts;
  for (int i = 0; i < 10; ++i) prompts.push_back(counting(i, 1 + i % 7));
  const auto found = generator.generate(prompts, {.greedy = true});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(found[i][0].text, counting(i, 8));
}

TEST_F(LanguageModelRun, ThreadsAndStopsChangeNoBit) {
  TrainOptions whole = options("whole"), part = options("part");
  whole.max_updates = 30;
  whole.threads = 1;
  part.max_updates = 13;
  train(whole);
  train(part);
  TrainOptions resumed;
  resumed.model = part.model;
  resumed.resume = true;
  resumed.max_updates = 30;
  resumed.threads = 2;
  train(resumed);
  auto a = lasting_state(whole.model), b = lasting_state(part.model);
  EXPECT_EQ(a["model.safetensors"], b["model.safetensors"]);
  for (const auto& [name, bytes] : a) {
    if (!name.starts_with("parameters.")) continue;
    EXPECT_EQ(bytes, b[name]) << name;
  }
}

TEST_F(LanguageModelRun, ValidationTellsPerplexityAndNoTranslationScores) {
  TrainOptions o = options("m");
  o.max_updates = 20;
  int validations = 0;
  o.progress = [&](const TrainProgress& p) {
    if (!p.validated) return;
    ++validations;
    EXPECT_TRUE(std::isfinite(p.valid_loss));
    EXPECT_TRUE(std::isnan(p.bleu) && std::isnan(p.chrf));
  };
  train(o);
  EXPECT_EQ(validations, 1);
  for (const std::string& line : read_lines(o.model / "training.jsonl")) {
    const auto event = nlohmann::json::parse(line);
    if (event["event"] != "valid") continue;
    EXPECT_NEAR(event["perplexity"].get<double>(), std::exp(event["loss"].get<double>()), 1e-9);
    EXPECT_FALSE(event.contains("bleu") || event.contains("chrf"));
  }
  EXPECT_NE(read_file(o.model / "training.html").find("perplexity"), std::string::npos);
}

TEST_F(LanguageModelRun, LongLinesAreCutInPiecesAndThatIsSaidOnce) {
  write_lines(folder_ / "train", std::vector<std::string>{counting(0, 8), counting(0, 16), counting(0, 15), "", counting(0, 40)});
  TrainOptions o = options("m");
  o.max_updates = 2;
  train(o);
  EXPECT_EQ(said("training data: 7 texts of 5 lines (1 empty; 2 were longer than 15 symbols and cut in pieces), 79 symbols"), 1)
      << said_[1];
  EXPECT_EQ(said("cut in pieces"), 1);
}

TEST_F(LanguageModelRun, PairsAndTextAreNotMixed) {
  TrainOptions o = options("m");
  o.source = o.target = folder_ / "train";
  EXPECT_EQ(error_of(o), "preset lm-tiny: a language model learns from one text, not from source and target");
  o = options("m");
  o.text.clear();
  EXPECT_EQ(error_of(o), "training a language model wants a file of text");
  o = options("m");
  o.preset = "transformer-tiny";
  EXPECT_EQ(error_of(o), "preset transformer-tiny: learns from source and target; one text is for language models");
}

TEST_F(LanguageModelRun, OnlyLossChoosesAndAnEncoderCannotBeSet) {
  for (const auto& [setting, message] : {std::pair("validate.metric=bleu", "--set: validate.metric = bleu: expected loss"),
                                         std::pair("validate.metric=chrf", "--set: validate.metric = chrf: expected loss"),
                                         std::pair("encoder.layers=2", "--set: there is no setting \"encoder.layers\""),
                                         std::pair("cross-attention.score=dot", "--set: there is no setting \"cross-attention.score\"")}) {
    TrainOptions o = options("m");
    o.settings.push_back(setting);
    EXPECT_TRUE(error_of(o).starts_with(message)) << error_of(o);
  }
}

TEST_F(LanguageModelRun, TextsThatAreMissingOrEmptyAreNamed) {
  TrainOptions o = options("m");
  o.text = folder_ / "nowhere";
  EXPECT_NE(error_of(o).find("nowhere"), std::string::npos);
  write_file(folder_ / "nothing", "");
  o.text = folder_ / "nothing";
  EXPECT_NE(error_of(o).find("nothing: expected lines of text, found none"), std::string::npos);
  o = options("m");
  o.valid_text = folder_ / "nothing";
  EXPECT_NE(error_of(o).find("nothing: expected lines of text, found none"), std::string::npos);
}

TEST(LanguageModelPresets, LearnFromOneTextWithoutLabelSmoothing) {
  EXPECT_TRUE(learns_from_one_text("lm-tiny") && learns_from_one_text("lm-small"));
  EXPECT_FALSE(learns_from_one_text("transformer-tiny") || learns_from_one_text("rnn-bahdanau"));
  for (const SettingInfo& s : list_settings("lm-small")) {
    EXPECT_TRUE(s.key != "train.label-smoothing" || s.value == "0") << s.value;
    EXPECT_TRUE(s.key != "validate.metric" || s.range == "loss") << s.range;
  }
}

}  // namespace
}  // namespace jumok
