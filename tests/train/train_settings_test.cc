#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "train/train_config.h"

namespace jumok {
namespace {

auto fields(const TrainConfig& c) {
  return std::tuple(c.rate, c.warm_up, c.beta1, c.beta2, c.epsilon, c.clip, c.label_smoothing, c.dropout, c.attention_dropout,
                    c.batch_tokens, c.lanes, c.micro_batch_rows, c.max_length, c.validate_every, c.metric, c.snapshot_every, c.average,
                    c.patience);
}

struct Case {
  std::string key, value;
  std::function<void(TrainConfig&)> change;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"train.rate", "0.25", [](TrainConfig& c) { c.rate = 0.25; }},
      {"train.warm-up", "77", [](TrainConfig& c) { c.warm_up = 77; }},
      {"adam.beta1", "0.5", [](TrainConfig& c) { c.beta1 = 0.5; }},
      {"adam.beta2", "0.625", [](TrainConfig& c) { c.beta2 = 0.625; }},
      {"adam.epsilon", "1e-06", [](TrainConfig& c) { c.epsilon = 1e-6; }},
      {"train.clip", "0", [](TrainConfig& c) { c.clip = 0; }},
      {"train.label-smoothing", "0.2", [](TrainConfig& c) { c.label_smoothing = 0.2; }},
      {"train.dropout", "0.3", [](TrainConfig& c) { c.dropout = 0.3; }},
      {"train.attention-dropout", "0.05", [](TrainConfig& c) { c.attention_dropout = 0.05; }},
      {"train.batch-tokens", "1234", [](TrainConfig& c) { c.batch_tokens = 1234; }},
      {"train.lanes", "3", [](TrainConfig& c) { c.lanes = 3; }},
      {"train.micro-batch-rows", "513", [](TrainConfig& c) { c.micro_batch_rows = 513; }},
      {"train.max-length", "99", [](TrainConfig& c) { c.max_length = 99; }},
      {"validate.every", "11", [](TrainConfig& c) { c.validate_every = 11; }},
      {"validate.metric", "loss", [](TrainConfig& c) { c.metric = Metric::kLoss; }},
      {"validate.metric", "bleu", [](TrainConfig& c) { c.metric = Metric::kBleu; }},
      {"average.every", "12", [](TrainConfig& c) { c.snapshot_every = 12; }},
      {"average.last", "4", [](TrainConfig& c) { c.average = 4; }},
      {"train.patience", "0", [](TrainConfig& c) { c.patience = 0; }},
  };
  return all;
}

TEST(TrainSettings, EachKeyChangesExactlyItsField) {
  for (const Case& c : cases()) {
    TrainConfig set, expected;
    train_settings(set).set(c.key, c.value, "test");
    c.change(expected);
    EXPECT_EQ(fields(set), fields(expected)) << c.key;
    EXPECT_NE(fields(set), fields(TrainConfig())) << c.key << ": the case changes nothing";
  }
}

TEST(TrainSettings, NoKeyIsMissingFromTheTableAbove) {
  TrainConfig config;
  const Settings settings = train_settings(config);
  for (const Setting& s : settings.all()) {
    EXPECT_TRUE(std::any_of(cases().begin(), cases().end(), [&](const Case& c) { return c.key == s.key; })) << s.key;
    EXPECT_FALSE(s.help.empty()) << s.key;
  }
}

TEST(TrainSettings, JsonRoundTripKeepsEveryField) {
  TrainConfig all;
  Settings settings = train_settings(all);
  for (const Case& c : cases()) settings.set(c.key, c.value, "test");
  TrainConfig back;
  train_settings(back).from_json(nlohmann::ordered_json::parse(settings.to_json().dump()), "test");
  EXPECT_EQ(fields(back), fields(all));
}

TEST(TrainSettings, DefaultsLieInTheirRanges) {
  TrainConfig config;
  Settings settings = train_settings(config);
  for (const Setting& s : settings.all()) EXPECT_TRUE(s.set(s.get())) << s.key << " = " << s.get();
  EXPECT_EQ(fields(config), fields(TrainConfig()));
}

}  // namespace
}  // namespace jumok
