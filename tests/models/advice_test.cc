// The promise of docs/mechanisms.md: a combination of settings makes a model, or is refused with one line that ends in
// "; set KEY=VALUE and KEY=VALUE, or KEY=VALUE" and leads to one that does.
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "models/encoder_decoder.h"

namespace jumok {
namespace {

using Assignments = std::vector<std::string>;

// Why no model can be made; "" where one can.
std::string refusal(const ModelConfig& config) {
  try {
    config.validate();  // alone it is faster than as a part of make_model
    make_model(config);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(by, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + by.size();
  }
}

// What a refusal advises, each alternative a few settings; none where it is not said in that form.
std::vector<Assignments> advice(const std::string& message) {
  const std::string set = "; set ";
  const size_t at = message.rfind(set);
  std::vector<Assignments> alternatives;
  if (at == std::string::npos || message.find('\n') != std::string::npos) return alternatives;
  for (const std::string& a : split(message.substr(at + set.size()), ", or ")) alternatives.push_back(split(a, " and "));
  return alternatives;
}

// The settings of one architecture over a config of its own: to make them for each combination would be most of a walk's time.
struct Table {
  explicit Table(Architecture a) : config(empty_config(a)), settings(model_settings(config)) {}
  Table(const Table&) = delete;
  ModelConfig config;
  Settings settings;
};

ModelConfig with(const ModelConfig& config, const Assignments& assignments) {
  static Table transformer(Architecture::kTransformer), rnn(Architecture::kRnn), language_model(Architecture::kLanguageModel);
  Table& table = config.architecture == Architecture::kRnn           ? rnn
                 : config.architecture == Architecture::kTransformer ? transformer
                                                                     : language_model;
  table.config = config;
  for (const std::string& a : assignments) table.settings.set_assignment(a, "test");
  return table.config;
}

// "" where following `a`, and then some alternative of at most `more` further refusals, leads to a model; else what went wrong.
std::string fault_of(const ModelConfig& config, const Assignments& a, int more) {
  ModelConfig next;
  try {
    next = with(config, a);
  } catch (const Error& e) {
    return std::string(" -> ") + e.what();
  }
  const std::string message = refusal(next);
  if (message.empty()) return "";
  std::string fault;
  if (more > 0) {
    for (const Assignments& b : advice(message)) {
      fault = fault_of(next, b, more - 1);
      if (fault.empty()) return "";
    }
  }
  return " -> " + message + fault;
}

// "" where every alternative of the refusal leads to a model; a config with several faults may need as many pieces of advice, up to
// `steps`.
std::string fault_of_advice(const ModelConfig& config, const std::string& message, int steps) {
  const std::vector<Assignments> alternatives = advice(message);
  if (alternatives.empty()) return "no advice: " + message;
  for (const Assignments& a : alternatives) {
    const std::string fault = fault_of(config, a, steps - 1);
    if (!fault.empty()) return message + fault;
  }
  return "";
}

struct Axis {
  std::string key;
  std::vector<std::string> values;
};

// Over every combination of the axes; a fault is told once for each first refusal.
class Walk {
 public:
  explicit Walk(std::vector<Axis> axes) : axes_(std::move(axes)) {}

  void over(const ModelConfig& base) { step(base, "", 0); }
  int accepted = 0, refused = 0;

  ~Walk() {
    for (const auto& [message, told] : faults_) ADD_FAILURE() << told.second << " combinations, such as" << told.first;
  }

 private:
  void step(const ModelConfig& config, const std::string& chosen, size_t axis) {
    if (axis == axes_.size()) return judge(config, chosen);
    for (const std::string& value : axes_[axis].values) {
      const std::string assignment = axes_[axis].key + "=" + value;
      step(with(config, {assignment}), chosen + " " + assignment, axis + 1);
    }
  }

  void judge(const ModelConfig& config, const std::string& chosen) {
    const std::string message = refusal(config);
    ++(message.empty() ? accepted : refused);
    if (message.empty()) return;
    const std::string fault = fault_of_advice(config, message, 3);
    if (fault.empty()) return;
    auto& [told, times] = faults_[message];
    if (times++ == 0) told = chosen + ": " + fault;
  }

  std::vector<Axis> axes_;
  std::map<std::string, std::pair<std::string, int>> faults_;
};

ModelConfig base(Architecture architecture) {
  ModelConfig c = empty_config(architecture);
  c.encoder_layers = architecture == Architecture::kLanguageModel ? 0 : 1;
  c.decoder_layers = 1;
  c.width = 16;
  c.heads = 1;
  c.feed_forward_width = 16;
  c.max_positions = 8;
  c.source_vocabulary = c.target_vocabulary = 5;
  return c;
}

const std::vector<std::string> kFlag = {"false", "true"};

TEST(Advice, OfARecurrentModelLeadsToOne) {
  Walk walk({{"attention.score",
              {"none-initial", "none-every-step", "additive", "dot", "general", "concat", "location", "scaled-dot", "multi-head"}},
             {"attention.place", {"inside", "after"}},
             {"attention.window", {"global", "local-m", "local-p"}},
             {"decoder.input-feeding", kFlag},
             {"decoder.readout", {"plain", "tanh", "linear", "maxout"}},
             {"attention.heads", {"1", "4", "5"}},
             {"decoder.first-state", {"bridge", "copy"}}});
  walk.over(base(Architecture::kRnn));
  for (const Assignments& shape : {Assignments{"encoder.width=24"}, Assignments{"attention.width=10"}}) {
    walk.over(with(base(Architecture::kRnn), shape));
  }
  EXPECT_GT(walk.accepted, 300);
  EXPECT_GT(walk.refused, 1000);
}

TEST(Advice, OfARecurrentEncoderLeadsToOne) {
  Walk walk({{"attention.score", {"none-initial", "additive", "dot", "multi-head"}},
             {"decoder.readout", {"tanh"}},
             {"encoder.bidirectional", kFlag},
             {"encoder.reversed", kFlag},
             {"encoder.wide", kFlag},
             {"encoder.width", {"0", "16", "23", "24"}},
             {"encoder.layers", {"1", "2"}},
             {"model.width", {"16", "17", "24"}},
             {"attention.heads", {"1", "2"}},
             {"decoder.first-state", {"bridge", "copy"}}});
  walk.over(base(Architecture::kRnn));
  EXPECT_GT(walk.accepted, 100);
  EXPECT_GT(walk.refused, 100);
}

TEST(Advice, OfATransformerLeadsToOne) {
  Walk walk({{"cross-attention.score", {"scaled-dot", "additive", "dot", "general"}},
             {"attention.sharing", {"separate", "key-is-value", "one"}},
             {"attention.project-query", kFlag},
             {"attention.project-key", kFlag},
             {"attention.project-value", kFlag},
             {"attention.scale", kFlag},
             {"attention.heads", {"1", "3", "4"}},
             {"model.width", {"16", "17"}},
             {"positions.kind", {"sinusoidal", "learned"}}});
  walk.over(base(Architecture::kTransformer));
  EXPECT_GT(walk.accepted, 100);
  EXPECT_GT(walk.refused, 100);
}

TEST(Advice, OfALanguageModelLeadsToOne) {
  Walk walk({{"attention.sharing", {"separate", "key-is-value", "one"}},
             {"attention.project-query", kFlag},
             {"attention.project-key", kFlag},
             {"attention.project-value", kFlag},
             {"attention.heads", {"1", "3", "4"}},
             {"model.width", {"16", "17"}},
             {"positions.kind", {"sinusoidal", "none"}}});
  walk.over(base(Architecture::kLanguageModel));
  EXPECT_GT(walk.accepted, 30);
  EXPECT_GT(walk.refused, 50);
}

// Vocabularies are no setting: what is tied is.
TEST(Advice, OfTwoVocabulariesLeadsToAModel) {
  for (const Architecture a : {Architecture::kTransformer, Architecture::kRnn, Architecture::kLanguageModel}) {
    ModelConfig c = base(a);
    c.source_vocabulary = 7;
    const std::string message = refusal(c);
    ASSERT_NE(message, "");
    EXPECT_EQ(fault_of_advice(c, message, 1), "");
  }
}

// The refusals that an audit found missing or wrong, each with what it must name. The config is a preset with settings over it.
struct Case {
  const char* preset;
  Assignments settings;
  std::vector<Assignments> advised;  // none: accepted
};

TEST(Advice, IsTheNearestCombination) {
  const std::vector<Case> cases = {
      // Heads of an attention that is not there trained in silence.
      {"rnn-none", {"attention.heads=4"}, {{"attention.heads=1"}, {"attention.score=multi-head", "decoder.readout=tanh"}}},
      {"transformer-tiny", {"model.width=15", "attention.heads=3"}, {{"model.width=18"}, {"positions.kind=learned"}}},
      // key-is-value, which was advised, is refused for dot.
      {"transformer-tiny",
       {"cross-attention.score=dot", "attention.sharing=one"},
       {{"attention.sharing=separate"}, {"cross-attention.score=scaled-dot"}}},
      {"transformer-tiny",
       {"cross-attention.score=general", "attention.sharing=one"},
       {{"attention.sharing=key-is-value"}, {"cross-attention.score=scaled-dot"}}},
      // Heads of a recurrent model divide attention.width, whatever model.width is (256 here).
      {"rnn-luong-dot", {"attention.score=multi-head", "attention.width=96", "attention.heads=3"}, {}},
      {"rnn-luong-dot", {"attention.score=multi-head", "attention.width=96", "attention.heads=64"}, {{"attention.heads=48"}}},
      {"rnn-luong-dot", {"attention.score=multi-head", "attention.heads=3"}, {{"attention.heads=4"}}},
      {"rnn-luong-dot", {"attention.heads=2"}, {{"attention.score=multi-head"}, {"attention.heads=1"}}},
      // c never reached the readout, which Cho 2014 has it in.
      {"rnn-none", {"attention.score=none-every-step"}, {{"decoder.readout=maxout"}, {"decoder.readout=tanh"}}},
      {"rnn-none", {"attention.score=none-every-step", "decoder.readout=tanh"}, {}},
      {"rnn-none", {"decoder.readout=maxout"}, {{"decoder.readout=tanh"}, {"attention.score=none-every-step"}}},
  };
  for (const Case& c : cases) {
    ModelConfig config = with(model_preset(c.preset), c.settings);
    config.source_vocabulary = config.target_vocabulary = 5;
    std::vector<Assignments> advised = advice(refusal(config)), expected = c.advised;
    std::sort(advised.begin(), advised.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(advised, expected) << c.preset << ": " << refusal(config);
    EXPECT_EQ(refusal(config).empty(), c.advised.empty()) << c.preset << ": " << refusal(config);
  }
}

}  // namespace
}  // namespace jumok
