// Files, settings and folders that a run refuses, each with one line that says why.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "digit_task.h"

namespace jumok {
namespace {
namespace fs = std::filesystem;

class TrainErrors : public testing::Test {
 protected:
  void expect_error(const TrainOptions& options, std::initializer_list<const char*> parts) {
    const std::string error = error_of(options);
    for (const char* part : parts) EXPECT_NE(error.find(part), std::string::npos) << "expected \"" << part << "\" in: " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_FALSE(fs::exists(options.model / "config.json")) << "a failed run left a model behind";
  }

  TemporaryFolder folder_;
  TrainOptions options_ = digit_run(folder_, "model");
};

TEST_F(TrainErrors, FilesOfUnequalLengthEmptyOrMissing) {
  std::ofstream(options_.target, std::ios::app) << "1 2\n";
  expect_error(options_, {"train.source", "train.target", "150", "151"});
  std::ofstream{options_.source};
  std::ofstream{options_.target};
  expect_error(options_, {"train.source", "empty"});
  fs::remove(options_.target);
  expect_error(options_, {"train.target"});
  options_.target = "";
  expect_error(options_, {"source and target"});
}

TEST_F(TrainErrors, LimitsBelowZeroOrThatAreNoNumberAreRefused) {
  options_.max_seconds = -3;
  expect_error(options_, {"seconds of training", "-3"});
  options_.max_seconds = std::nan("");
  expect_error(options_, {"seconds of training", "nan"});
  options_.max_seconds = 0, options_.max_updates = -1;
  expect_error(options_, {"updates", "-1"});
  options_.max_updates = 0, options_.max_epochs = -1;
  expect_error(options_, {"epochs", "-1"});
}

TEST_F(TrainErrors, ValidationFilesAreCheckedLikewise) {
  std::ofstream(options_.valid_target, std::ios::app) << "1 2\n";
  expect_error(options_, {"valid.source", "valid.target", "20", "21"});
  options_.valid_target = "";
  expect_error(options_, {"validation", "both"});
}

// Learning a vocabulary may take minutes.
TEST_F(TrainErrors, EmptyValidationTextIsSaidBeforeTheVocabularyIsLearnt) {
  std::ofstream{options_.valid_source};
  std::ofstream{options_.valid_target};
  options_.log = [](LogLevel, const std::string& text) { ADD_FAILURE() << text; };
  expect_error(options_, {"valid.source", "empty files"});
}

TEST_F(TrainErrors, TextOfWhichNothingIsLeft) {
  options_.settings.push_back("train.max-length=1");
  expect_error(options_, {"train.source", "no pair of lines is left to train on", "train.max-length = 1"});
  options_.settings.pop_back();
  std::ofstream(options_.valid_source) << "\n \n";
  std::ofstream(options_.valid_target) << "1\n1\n";
  expect_error(options_, {"valid.source", "no pair of lines is left to validate on", "empty"});
  std::ofstream(options_.source) << "\n \n";
  std::ofstream(options_.target) << "\n\n";
  expect_error(options_, {"train.source and ", "train.target: vocabulary training: expected text, found 4 lines"});
}

TEST_F(TrainErrors, AVocabularySmallerThanTheAlphabetNamesTheTextAndTheLeastThatDoes) {
  options_.subwords = "bpe";
  options_.vocabulary = 9;  // "▁", ten digits and three special symbols need 14
  expect_error(options_, {"train.source and ", "train.target: vocabulary: expected at least 14 pieces", "found 9"});
}

// Three of 20 source words and 5 of 10 target words are none of the two that a vocabulary of five has room for; of several side
// by side, SentencePiece makes one symbol.
TEST_F(TrainErrors, WordsThatTheVocabularyLacksAreCountedInAWarningASide) {
  std::ofstream(options_.source) << "a a a c a a b b b c\na a a a c b b b b a\n";
  std::ofstream(options_.target) << "a c b d a\ne a f b g\n";
  options_.vocabulary = 5;
  options_.max_updates = 1;
  std::vector<std::string> warnings;
  options_.log = [&](LogLevel level, const std::string& text) {
    if (level == LogLevel::kWarning) warnings.push_back(text);
  };
  ASSERT_EQ(error_of(options_), "");
  ASSERT_EQ(warnings.size(), 2u) << testing::PrintToString(warnings);
  EXPECT_NE(warnings[0].find("train.source: 15.0 % of its symbols are unknown"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[1].find("train.target: 50.0 % of its symbols are unknown"), std::string::npos) << warnings[1];
}

TEST_F(TrainErrors, AnUnknownSettingIsAnsweredWithTheNearest) {
  options_.settings.push_back("train.dropuot=0.1");
  expect_error(options_, {"train.dropuot", "train.dropout"});
  options_.settings.back() = "train.dropout";
  expect_error(options_, {"train.dropout"});
}

TEST_F(TrainErrors, AValueOutOfRangeIsAnsweredWithTheRange) {
  options_.settings.push_back("train.dropout=1.5");
  expect_error(options_, {"train.dropout", "1.5", "0 … 0.9"});
  options_.settings.back() = "validate.metric=rouge";
  expect_error(options_, {"validate.metric", "rouge", "loss | bleu | chrf"});
  options_.settings.back() = "attention.heads=3";
  expect_error(options_, {"heads"});
  options_.settings.back() = "train.max-length=32";
  expect_error(options_, {"train.max-length = 32", "positions.max = 32"});
}

TEST_F(TrainErrors, PresetsSubwordsAndThreadsThatDoNotExist) {
  TrainOptions o = options_;
  o.preset = "transformer-huge";
  expect_error(o, {"transformer-huge", "transformer-tiny"});
  o = options_;
  o.subwords = "syllables";
  expect_error(o, {"syllables", "unigram"});
  o = options_;
  o.threads = -1;
  expect_error(o, {"threads = -1"});
  o = options_;
  o.source_subwords = folder_ / "none.spm";
  expect_error(o, {"none.spm"});
  o.source_subwords = options_.source;  // text, no SentencePiece model
  expect_error(o, {"train.source"});
}

TEST_F(TrainErrors, ResumingWantsARunToResume) {
  TrainOptions o;
  o.model = folder_ / "nothing";
  o.resume = true;
  expect_error(o, {"nothing", "expected a model directory"});
  train(options_);
  fs::remove(options_.model / "checkpoint/state.safetensors");
  o.model = options_.model;
  EXPECT_NE(error_of(o).find("checkpoint"), std::string::npos) << error_of(o);
  o.settings = {"train.dropout=0.2"};
  EXPECT_NE(error_of(o).find("keeps the settings"), std::string::npos) << error_of(o);
}

TEST_F(TrainErrors, ARateThatDestroysTheModelEndsTheRunWithAdvice) {
  options_.settings.insert(options_.settings.end(), {"train.rate=10", "train.warm-up=1", "train.clip=0", "model.norm=post"});
  options_.max_updates = 300;
  const std::string error = error_of(options_);
  EXPECT_TRUE(error.empty() || error.find("train.rate") != std::string::npos) << error;  // it may also survive, badly
}

TEST(Settings, AreListedAsTheyWereSet) {
  const auto value_of = [](const std::vector<std::string>& settings, const std::string& key) {
    for (const SettingInfo& s : list_settings("transformer-tiny", settings)) {
      if (s.key == key) return s.value;
    }
    return std::string("none");
  };
  EXPECT_EQ(value_of({}, "model.width"), "128");
  EXPECT_EQ(value_of({"model.width=16", "train.dropout=0.25"}, "model.width"), "16");
  EXPECT_EQ(value_of({"model.width=16", "train.dropout=0.25"}, "train.dropout"), "0.25");
  EXPECT_THROW(list_settings("transformer-tiny", {"model.width=7.5"}), Error);
}

TEST(Settings, AreListedWithValueRangeAndHelp) {
  bool found = false;
  for (const SettingInfo& s : list_settings("transformer-tiny")) {
    EXPECT_FALSE(s.key.empty() || s.value.empty() || s.range.empty() || s.help.empty()) << s.key;
    found = found || (s.key == "model.width" && s.value == "128");
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(list_presets().empty());
}

}  // namespace
}  // namespace jumok
