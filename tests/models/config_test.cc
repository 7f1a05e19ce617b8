#include "models/config.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/encoder_decoder.h"

namespace jumok {
namespace {

// Parameters of a Transformer, with D the width, F the feed-forward width, L layers a side, V symbols of one tied embedding:
//   attention       four D × D matrices, four biases                     4 D² + 4 D
//   feed-forward    D × F and back, two biases                           2 D F + F + D
//   norm            gamma, beta                                          2 D
//   encoder layer   one attention, feed-forward, two norms               4 D² + 2 D F + 9 D + F
//   decoder layer   two attentions, feed-forward, three norms            8 D² + 2 D F + 15 D + F
//   in all          L (12 D² + 4 D F + 24 D + 2 F) + V D, and pre-norm 4 D for the two last norms
struct Shape {
  const char* preset;
  int layers, width, heads, feed_forward;
  int64_t post_norm_without_embedding;
};
constexpr Shape kShapes[] = {
    // Wu et al. 2021, "Good for Misconceived Reasons": 4 (12 · 16384 + 4 · 32768 + 24 · 128 + 2 · 256) = 4 · 331264
    {"transformer-tiny", 4, 128, 4, 256, 1325056},
    // ours: 4 (12 · 65536 + 4 · 262144 + 24 · 256 + 2 · 1024) = 4 · 1843200
    {"transformer-small", 4, 256, 4, 1024, 7372800},
    // Vaswani et al. 2017, table 3, base: 6 (12 · 262144 + 4 · 1048576 + 24 · 512 + 2 · 2048) = 6 · 7356416
    {"transformer-base", 6, 512, 8, 2048, 44138496},
    // the same, big: 6 (12 · 1048576 + 4 · 4194304 + 24 · 1024 + 2 · 4096) = 6 · 29392896
    {"transformer-big", 6, 1024, 16, 4096, 176357376},
};

int64_t parameters(ModelConfig config, int vocabulary) {
  config.source_vocabulary = config.target_vocabulary = vocabulary;
  config.max_positions = 64;
  return make_model(config)->layout().count();
}

TEST(Presets, HaveTheirPublishedShapes) {
  for (const Shape& s : kShapes) {
    const ModelConfig c = model_preset(s.preset);
    EXPECT_EQ(c.encoder_layers, s.layers) << s.preset;
    EXPECT_EQ(c.decoder_layers, s.layers) << s.preset;
    EXPECT_EQ(c.width, s.width) << s.preset;
    EXPECT_EQ(c.heads, s.heads) << s.preset;
    EXPECT_EQ(c.feed_forward_width, s.feed_forward) << s.preset;
    EXPECT_EQ(c.positions, Positions::kSinusoidal) << s.preset;
    EXPECT_EQ(c.tying, Tying::kAll) << s.preset;
    EXPECT_NO_THROW(c.validate()) << s.preset;
  }
}

TEST(Presets, HaveTheParameterCountsWorkedOutByHand) {
  for (const Shape& s : kShapes) {
    ModelConfig c = model_preset(s.preset);
    c.norm = Norm::kPost;
    EXPECT_EQ(parameters(c, 1000), s.post_norm_without_embedding + 1000 * s.width) << s.preset;
    c.norm = Norm::kPre;
    EXPECT_EQ(parameters(c, 1000), s.post_norm_without_embedding + 1000 * s.width + 4 * s.width) << s.preset;
  }
}

// D = 256, V symbols of one tied embedding. A GRU layer of width W on an input of width I has 3 W (I + W) weights and 6 W biases, an LSTM
// layer 4 W (I + W) and 4 W.
TEST(Presets, RecurrentModelsHaveTheParameterCountsWorkedOutByHand) {
  const auto count = [](const char* preset) { return parameters(model_preset(preset), 1000) - 256000; };
  // encoder and decoder: 2 · 4 · 256 · (512 + 1)
  EXPECT_EQ(count("rnn-none"), 1050624);
  // encoder 2 · 3 · 256 · 514, decoder 3 · 256 · 514, bridge 256 · 257, W_a 256², U_a 256 · 512, v_a 256, c into the gates 768 · 512,
  // maxout readout 512 · (1024 + 1)
  EXPECT_EQ(count("rnn-bahdanau"), 789504 + 394752 + 65792 + 65536 + 131072 + 256 + 393216 + 524800);
  // encoder 2 · 4 · 128 · (384 + 1), decoder 4 · 256 · 513, readout 256 · (512 + 1)
  EXPECT_EQ(count("rnn-luong-dot"), 394240 + 525312 + 131328);
  EXPECT_EQ(count("rnn-luong-general"), 394240 + 525312 + 131328 + 65536);
  EXPECT_EQ(count("rnn-luong-concat"), 394240 + 525312 + 131328 + 2 * 65536 + 256);
  EXPECT_EQ(count("rnn-luong-location"), 394240 + 525312 + 131328 + 100 * 256);
}

// "model.width=96" alone left Bahdanau's encoder as wide as the preset's. An encoder.width of one's own, which is what configs written
// before encoder.wide hold, still counts. D = 96, by the sums above.
TEST(Presets, ANarrowBahdanauIsNarrowOnBothSides) {
  const auto count = [](std::vector<const char*> assignments, bool stored) {
    ModelConfig c = stored ? empty_config(Architecture::kRnn) : model_preset("rnn-bahdanau");
    Settings settings = model_settings(c);
    for (const char* a : assignments) settings.set_assignment(a, "test");
    return parameters(c, 1000) - 1000 * c.width;
  };
  EXPECT_EQ(count({"model.width=96"}, false), 111744 + 55872 + 9312 + 9216 + 18432 + 96 + 55296 + 73920);
  const int64_t wide = 789504 + 394752 + 65792 + 65536 + 131072 + 256 + 393216 + 524800;
  EXPECT_EQ(count({"model.width=256", "encoder.width=512", "encoder.layers=1", "decoder.layers=1"}, true), wide);
  EXPECT_EQ(count({"encoder.width=512"}, false), wide);
}

// Table 3 counts 65 and 213 million for the paper's joint vocabulary of about 37000 symbols (§5.1).
TEST(Presets, AreAsLargeAsThePaperSays) {
  EXPECT_NEAR(static_cast<double>(kShapes[2].post_norm_without_embedding) + 37000.0 * 512, 65e6, 0.04 * 65e6);
  EXPECT_NEAR(static_cast<double>(kShapes[3].post_norm_without_embedding) + 37000.0 * 1024, 213e6, 0.01 * 213e6);
}

TEST(Parameters, UntyingAddsOneEmbeddingAStep) {
  ModelConfig c = model_preset("transformer-tiny");
  const int64_t tied = parameters(c, 1000);
  c.tying = Tying::kTargetOutput;
  EXPECT_EQ(parameters(c, 1000), tied + 1000 * 128);
  c.tying = Tying::kNone;
  EXPECT_EQ(parameters(c, 1000), tied + 2 * 1000 * 128);
  c.positions = Positions::kLearned;  // 64 positions a side
  EXPECT_EQ(parameters(c, 1000), tied + 2 * 1000 * 128 + 2 * 64 * 128);
}

std::string error_of(const ModelConfig& config) {
  try {
    config.validate();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Validate, NamesTheValuesThatDoNotFit) {
  ModelConfig c;
  c.source_vocabulary = c.target_vocabulary = 100;
  EXPECT_EQ(error_of(c), "no error");
  c.heads = 3;
  EXPECT_EQ(error_of(c), "attention.heads = 3: expected a divisor of model.width = 128; set attention.heads=4");
  c.heads = 1;
  c.width = 33;
  EXPECT_EQ(error_of(c), "model.width = 33: sinusoidal positions want an even width; set model.width=34, or positions.kind=learned");
  c.positions = Positions::kLearned;
  EXPECT_EQ(error_of(c), "no error");
  c.target_vocabulary = 90;
  EXPECT_EQ(
      error_of(c),
      "embedding.tying = all: expected one joint vocabulary, found 100 source and 90 target symbols; set embedding.tying=target-output");
  c.tying = Tying::kTargetOutput;
  EXPECT_EQ(error_of(c), "no error");
}

TEST(Presets, UnknownNameIsAnsweredWithTheKnownOnes) {
  try {
    model_preset("transformer-huge");
    FAIL();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_TRUE(text.starts_with("preset \"transformer-huge\": expected one of transformer-tiny, ")) << text;
    for (const std::string& name : preset_names()) EXPECT_NE(text.find(name), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace jumok
