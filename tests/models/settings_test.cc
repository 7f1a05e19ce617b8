#include "models/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/error.h"
#include "models/config.h"

namespace jumok {
namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

auto fields(const ModelConfig& c) {
  const HeadOptions& h = c.head_options;
  const RnnConfig& r = c.rnn;
  return std::tuple(c.encoder_layers, c.decoder_layers, c.width, c.heads, c.feed_forward_width, c.norm, c.positions, c.max_positions,
                    c.tying, c.source_vocabulary, c.target_vocabulary, h.scale, h.query, h.key, h.value, h.sharing, h.score, r.cell,
                    r.reset_after, r.encoder_width, r.wide, r.bidirectional, r.reversed, r.residual, r.first_state, r.score, r.place,
                    r.window, r.half_width, r.inner_width, r.location_positions, r.input_feeding, r.readout);
}

struct ModelCase {
  std::string key, value;
  std::function<void(ModelConfig&)> change;
};

const std::vector<ModelCase>& model_cases() {
  static const std::vector<ModelCase> cases = {
      {"encoder.layers", "7", [](ModelConfig& c) { c.encoder_layers = 7; }},
      {"decoder.layers", "7", [](ModelConfig& c) { c.decoder_layers = 7; }},
      {"model.width", "24", [](ModelConfig& c) { c.width = 24; }},
      {"attention.heads", "3", [](ModelConfig& c) { c.heads = 3; }},
      {"feed-forward.width", "99", [](ModelConfig& c) { c.feed_forward_width = 99; }},
      {"model.norm", "post", [](ModelConfig& c) { c.norm = Norm::kPost; }},
      {"positions.kind", "learned", [](ModelConfig& c) { c.positions = Positions::kLearned; }},
      {"positions.kind", "none", [](ModelConfig& c) { c.positions = Positions::kNone; }},
      {"positions.max", "55", [](ModelConfig& c) { c.max_positions = 55; }},
      {"embedding.tying", "target-output", [](ModelConfig& c) { c.tying = Tying::kTargetOutput; }},
      {"embedding.tying", "none", [](ModelConfig& c) { c.tying = Tying::kNone; }},
      {"attention.scale", "false", [](ModelConfig& c) { c.head_options.scale = false; }},
      {"attention.project-query", "false", [](ModelConfig& c) { c.head_options.query = false; }},
      {"attention.project-key", "false", [](ModelConfig& c) { c.head_options.key = false; }},
      {"attention.project-value", "false", [](ModelConfig& c) { c.head_options.value = false; }},
      {"attention.sharing", "key-is-value", [](ModelConfig& c) { c.head_options.sharing = Sharing::kKeyIsValue; }},
      {"attention.sharing", "one", [](ModelConfig& c) { c.head_options.sharing = Sharing::kOne; }},
      {"cross-attention.score", "additive", [](ModelConfig& c) { c.head_options.score = Score::kAdditive; }},
      {"cross-attention.score", "dot", [](ModelConfig& c) { c.head_options.score = Score::kDot; }},
      {"cross-attention.score", "general", [](ModelConfig& c) { c.head_options.score = Score::kGeneral; }},
  };
  return cases;
}

const std::vector<ModelCase>& rnn_cases() {
  static const std::vector<ModelCase> cases = {
      {"rnn.cell", "lstm", [](ModelConfig& c) { c.rnn.cell = kernels::Cell::kLstm; }},
      {"rnn.cell", "tanh", [](ModelConfig& c) { c.rnn.cell = kernels::Cell::kTanh; }},
      {"rnn.reset-after", "false", [](ModelConfig& c) { c.rnn.reset_after = false; }},
      {"rnn.residual", "false", [](ModelConfig& c) { c.rnn.residual = false; }},
      {"encoder.layers", "7", [](ModelConfig& c) { c.encoder_layers = 7; }},
      {"encoder.width", "34", [](ModelConfig& c) { c.rnn.encoder_width = 34; }},
      {"encoder.wide", "true", [](ModelConfig& c) { c.rnn.wide = true; }},
      {"encoder.bidirectional", "false", [](ModelConfig& c) { c.rnn.bidirectional = false; }},
      {"encoder.reversed", "true", [](ModelConfig& c) { c.rnn.reversed = true; }},
      {"decoder.layers", "7", [](ModelConfig& c) { c.decoder_layers = 7; }},
      {"model.width", "24", [](ModelConfig& c) { c.width = 24; }},
      {"decoder.first-state", "copy", [](ModelConfig& c) { c.rnn.first_state = FirstState::kCopy; }},
      {"attention.score", "none-initial", [](ModelConfig& c) { c.rnn.score = Score::kNoneInitial; }},
      {"attention.score", "none-every-step", [](ModelConfig& c) { c.rnn.score = Score::kNoneEveryStep; }},
      {"attention.score", "dot", [](ModelConfig& c) { c.rnn.score = Score::kDot; }},
      {"attention.score", "general", [](ModelConfig& c) { c.rnn.score = Score::kGeneral; }},
      {"attention.score", "concat", [](ModelConfig& c) { c.rnn.score = Score::kConcat; }},
      {"attention.score", "location", [](ModelConfig& c) { c.rnn.score = Score::kLocation; }},
      {"attention.score", "scaled-dot", [](ModelConfig& c) { c.rnn.score = Score::kScaledDot; }},
      {"attention.score", "multi-head", [](ModelConfig& c) { c.rnn.score = Score::kMultiHead; }},
      {"attention.place", "after", [](ModelConfig& c) { c.rnn.place = Place::kAfter; }},
      {"attention.window", "local-m", [](ModelConfig& c) { c.rnn.window = Window::kLocalM; }},
      {"attention.window", "local-p", [](ModelConfig& c) { c.rnn.window = Window::kLocalP; }},
      {"attention.half-width", "3", [](ModelConfig& c) { c.rnn.half_width = 3; }},
      {"attention.width", "12", [](ModelConfig& c) { c.rnn.inner_width = 12; }},
      {"attention.heads", "4", [](ModelConfig& c) { c.heads = 4; }},
      {"attention.positions", "20", [](ModelConfig& c) { c.rnn.location_positions = 20; }},
      {"decoder.input-feeding", "true", [](ModelConfig& c) { c.rnn.input_feeding = true; }},
      {"decoder.readout", "plain", [](ModelConfig& c) { c.rnn.readout = Readout::kPlain; }},
      {"decoder.readout", "tanh", [](ModelConfig& c) { c.rnn.readout = Readout::kTanh; }},
      {"decoder.readout", "linear", [](ModelConfig& c) { c.rnn.readout = Readout::kLinear; }},
      {"embedding.tying", "none", [](ModelConfig& c) { c.tying = Tying::kNone; }},
  };
  return cases;
}

// Each architecture with the cases of its keys.
std::vector<std::pair<Architecture, std::vector<ModelCase>>> architectures() {
  return {{Architecture::kTransformer, model_cases()}, {Architecture::kRnn, rnn_cases()}};
}

TEST(ModelSettings, EachKeyChangesExactlyItsField) {
  for (const auto& [architecture, cases] : architectures()) {
    for (const ModelCase& m : cases) {
      ModelConfig set = empty_config(architecture), expected = set;
      model_settings(set).set(m.key, m.value, "test");
      m.change(expected);
      EXPECT_EQ(fields(set), fields(expected)) << m.key;
      EXPECT_NE(fields(set), fields(empty_config(architecture))) << m.key << ": the case changes nothing";
    }
  }
}

TEST(ModelSettings, NoKeyIsMissingFromTheTablesAbove) {
  for (const auto& [architecture, cases] : architectures()) {
    ModelConfig config = empty_config(architecture);
    const Settings settings = model_settings(config);
    for (const Setting& s : settings.all()) {
      EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const ModelCase& m) { return m.key == s.key; })) << s.key;
      EXPECT_FALSE(s.help.empty()) << s.key;
    }
  }
}

TEST(ModelSettings, WhatIsReadBackIsWhatWasSet) {
  ModelConfig config;
  const Settings settings = model_settings(config);
  for (const ModelCase& m : model_cases()) {
    Settings(settings).set_assignment(m.key + "=" + m.value, "test");
    for (const Setting& s : settings.all()) {
      if (s.key == m.key) {
        EXPECT_EQ(s.get(), m.value) << m.key;
      }
    }
  }
}

TEST(ModelSettings, JsonRoundTripKeepsEveryField) {
  ModelConfig all;
  Settings settings = model_settings(all);
  for (const ModelCase& m : model_cases()) settings.set(m.key, m.value, "test");
  const auto json = nlohmann::ordered_json::parse(settings.to_json().dump());
  EXPECT_TRUE(json["model.width"].is_number_integer());
  EXPECT_TRUE(json["model.norm"].is_string());
  ModelConfig back;
  model_settings(back).from_json(json, "test");
  EXPECT_EQ(fields(back), fields(all));
}

TEST(Settings, UnknownKeyIsAnsweredWithTheNearest) {
  ModelConfig config;
  Settings s = model_settings(config);
  EXPECT_EQ(error_of([&] { s.set("encoder.layer", "4", "--set"); }),
            "--set: there is no setting \"encoder.layer\"; did you mean \"encoder.layers\"?");
  EXPECT_NE(error_of([&] { s.set_assignment("model.widht=4", "--set"); }).find("did you mean \"model.width\""), std::string::npos);
  EXPECT_NE(error_of([&] {
              s.from_json({{"positions.maximum", 9}}, "config.json");
            }).find("config.json: there is no setting \"positions.maximum\""),
            std::string::npos);
  EXPECT_EQ(fields(config), fields(ModelConfig()));
}

TEST(Settings, BadValueIsAnsweredWithTheRangeAndChangesNothing) {
  ModelConfig config;
  Settings s = model_settings(config);
  EXPECT_EQ(error_of([&] { s.set("encoder.layers", "65", "--set"); }), "--set: encoder.layers = 65: expected a whole number, 1 … 64");
  EXPECT_EQ(error_of([&] { s.set("model.norm", "mid", "--set"); }), "--set: model.norm = mid: expected pre | post");
  // What a C conversion would take for a number: trailing letters, spaces, fractions, signs, more digits than an int has, nothing.
  for (const char* text : {"", " 4", "4 ", "4x", "4.0", "4e0", "+4", "0", "-1", "0x4", "4294967300", "99999999999999999999", "pre"}) {
    EXPECT_NE(error_of([&] { s.set("encoder.layers", text, "t"); }), "no error") << '"' << text << '"';
  }
  for (const char* text : {"", "Pre", "pre ", "1"}) EXPECT_NE(error_of([&] { s.set("model.norm", text, "t"); }), "no error") << text;
  EXPECT_EQ(fields(config), fields(ModelConfig()));
}

TEST(Settings, BothEndsOfARangeBelongToIt) {
  ModelConfig config;
  Settings s = model_settings(config);
  s.set("encoder.layers", "1", "t");
  s.set("decoder.layers", "64", "t");
  EXPECT_EQ(config.encoder_layers, 1);
  EXPECT_EQ(config.decoder_layers, 64);
}

TEST(Settings, RealNumbersAndFlags) {
  double rate = 0.5;
  bool on = false;
  Settings s;
  s.real("rate", rate, 0, 0.9, "");
  s.flag("on", on, "");
  for (const char* text : {"nan", "inf", "-0.1", "0.91", "0,1", "", "0.1x"}) {
    EXPECT_EQ(error_of([&] { s.set("rate", text, "t"); }), std::string("t: rate = ") + text + ": expected 0 … 0.9");
  }
  for (const char* text : {"1", "yes", "True", ""}) {
    EXPECT_EQ(error_of([&] { s.set("on", text, "t"); }), std::string("t: on = ") + text + ": expected true | false");
  }
  s.set("rate", "1e-9", "t");
  s.set("on", "true", "t");
  EXPECT_EQ(rate, 1e-9);
  EXPECT_TRUE(on);
  const auto json = nlohmann::ordered_json::parse(s.to_json().dump());
  EXPECT_TRUE(json["on"].is_boolean());
  rate = 0, on = false;
  s.from_json(json, "t");
  EXPECT_EQ(rate, 1e-9);
  EXPECT_TRUE(on);
}

TEST(Settings, AssignmentWantsAnEqualsSignAndAKey) {
  ModelConfig config;
  Settings s = model_settings(config);
  EXPECT_EQ(error_of([&] { s.set_assignment("encoder.layers", "--set"); }), "--set: expected key=value, found \"encoder.layers\"");
  EXPECT_EQ(error_of([&] { s.set_assignment("=4", "--set"); }), "--set: expected key=value, found \"=4\"");
  EXPECT_EQ(error_of([&] { s.set_assignment("encoder.layers=1=2", "--set"); }),
            "--set: encoder.layers = 1=2: expected a whole number, 1 … 64");
}

TEST(Settings, JsonOfAnotherTypeIsRefused) {
  const nlohmann::ordered_json wrong[] = {
      {{"encoder.layers", "4"}}, {{"encoder.layers", 4.5}}, {{"encoder.layers", true}}, {{"encoder.layers", nullptr}},
      {{"encoder.layers", {4}}}, {{"encoder.layers", -4}},  {{"model.norm", 1}},        {{"model.norm", {{"pre", 1}}}},
      {{"model.norm", nullptr}}, {{"positions.max", 1e30}},
  };
  for (const auto& json : wrong) {
    ModelConfig config;
    const std::string error = error_of([&] { model_settings(config).from_json(json, "x.json"); });
    EXPECT_TRUE(error.starts_with("x.json: " + json.items().begin().key() + " = ")) << json << " gives: " << error;
    EXPECT_NE(error.find(": expected "), std::string::npos) << error;
    EXPECT_EQ(fields(config), fields(ModelConfig())) << json;
  }
  for (const nlohmann::ordered_json& json :
       {nlohmann::ordered_json(), nlohmann::ordered_json::array({1}), nlohmann::ordered_json("text")}) {
    ModelConfig config;
    EXPECT_NE(error_of([&] { model_settings(config).from_json(json, "x.json"); }).find("x.json: expected an object of settings"),
              std::string::npos)
        << json;
  }
}

TEST(Settings, OnlyANearSettingIsOffered) {
  ModelConfig config;
  Settings settings = model_settings(config);
  const std::string near = error_of([&] { settings.set("model.widht", "8", "--set"); });
  EXPECT_NE(near.find("did you mean \"model.width\"?"), std::string::npos) << near;
  EXPECT_EQ(error_of([&] { settings.set("frobnicate", "8", "--set"); }), "--set: there is no setting \"frobnicate\"");
}

// A guess at the spelling led astray: attention.window became attention.heads, attention.score attention.scale.
TEST(ModelSettings, AKeyOfAnotherArchitectureIsCalledOne) {
  struct Case {
    Architecture architecture;
    const char *assignment, *answer;
  };
  const auto transformer = Architecture::kTransformer, rnn = Architecture::kRnn, language_model = Architecture::kLanguageModel;
  const Case cases[] = {
      {transformer, "attention.window=local-m", "\"attention.window\": it belongs to recurrent models"},
      {transformer, "attention.score=additive",
       "\"attention.score\": it belongs to recurrent models; a Transformer has \"cross-attention.score\""},
      {transformer, "rnn.cell=gru", "\"rnn.cell\": it belongs to recurrent models"},
      {transformer, "encoder.width=64", "\"encoder.width\": it belongs to recurrent models; a Transformer has \"model.width\""},
      {rnn, "attention.scale=false",
       "\"attention.scale\": it belongs to Transformers and language models; recurrent models have \"attention.score\" (dot, scaled-dot)"},
      {rnn, "cross-attention.score=dot",
       "\"cross-attention.score\": it belongs to Transformers; recurrent models have \"attention.score\""},
      {rnn, "positions.kind=none", "\"positions.kind\": it belongs to Transformers and language models"},
      {language_model, "encoder.layers=2", "\"encoder.layers\": it belongs to Transformers and recurrent models"},
      {language_model, "attention.score=dot", "\"attention.score\": it belongs to recurrent models"},
      // A slip of the pen in one of them, and one that is near to a key of its own too.
      {transformer, "attention.windw=local-m", "\"attention.windw\"; did you mean \"attention.window\", of recurrent models?"},
      {transformer, "attention.head=2", "\"attention.head\"; did you mean \"attention.heads\"?"},
  };
  for (const Case& c : cases) {
    ModelConfig config = empty_config(c.architecture);
    Settings all;
    all.append(model_settings(config));  // as a training run joins them with its own
    EXPECT_EQ(error_of([&] { all.set_assignment(c.assignment, "--set"); }), std::string("--set: there is no setting ") + c.answer);
  }
}

TEST(Settings, AFractionInsideTheRangeOfAWholeNumberIsExplained) {
  ModelConfig config;
  Settings settings = model_settings(config);
  EXPECT_EQ(error_of([&] { settings.set("model.width", "8.5", "--set"); }), "--set: model.width = 8.5: expected a whole number, 8 … 8192");
}

}  // namespace
}  // namespace jumok
