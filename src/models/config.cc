#include "models/config.h"

#include "base/error.h"

namespace jumok {
namespace {

struct Preset {
  const char* name;
  int layers, width, heads, feed_forward;
};
// Tiny: Wu et al. 2021 for Multi30k; base and big: Vaswani et al. 2017, table 3; small is ours.
constexpr Preset kPresets[] = {
    {"transformer-tiny", 4, 128, 4, 256},
    {"transformer-small", 4, 256, 4, 1024},
    {"transformer-base", 6, 512, 8, 2048},
    {"transformer-big", 6, 1024, 16, 4096},
};

}  // namespace

void ModelConfig::validate() const {
  check(width % heads == 0, "attention.heads = {}: expected a divisor of model.width = {}", heads, width);
  check(positions != Positions::kSinusoidal || width % 2 == 0, "model.width = {}: sinusoidal positions want an even width", width);
  check(tying != Tying::kAll || source_vocabulary == target_vocabulary,
        "embedding.tying = all: expected one joint vocabulary, found {} source and {} target symbols", source_vocabulary,
        target_vocabulary);
}

Settings model_settings(ModelConfig& c) {
  Settings s;
  s.integer("encoder.layers", c.encoder_layers, 1, 64, "layers of the encoder");
  s.integer("decoder.layers", c.decoder_layers, 1, 64, "layers of the decoder");
  s.integer("model.width", c.width, 8, 8192, "width D of every layer's input and output");
  s.integer("attention.heads", c.heads, 1, 128, "attention heads H; must divide the width");
  s.integer("feed-forward.width", c.feed_forward_width, 8, 65536, "inner width F of the feed-forward networks");
  s.choice<Norm>("model.norm", c.norm, {{"pre", Norm::kPre}, {"post", Norm::kPost}},
                 "layer norm before each sublayer, or after each sum as in the paper");
  s.choice<Positions>("positions.kind", c.positions,
                      {{"sinusoidal", Positions::kSinusoidal}, {"learned", Positions::kLearned}, {"none", Positions::kNone}},
                      "how a symbol knows its place");
  s.integer("positions.max", c.max_positions, 8, 65536, "longest sentence in subword symbols, end symbol included");
  s.choice<Tying>("embedding.tying", c.tying, {{"all", Tying::kAll}, {"target-output", Tying::kTargetOutput}, {"none", Tying::kNone}},
                  "which embeddings share one matrix; all needs a joint vocabulary");
  return s;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& p : kPresets) names.push_back(p.name);
  return names;
}

ModelConfig model_preset(const std::string& name) {
  for (const Preset& p : kPresets) {
    if (name != p.name) continue;
    ModelConfig c;
    c.encoder_layers = c.decoder_layers = p.layers;
    c.width = p.width;
    c.heads = p.heads;
    c.feed_forward_width = p.feed_forward;
    return c;
  }
  fail("preset \"{}\": expected one of {}", name, fmt::join(preset_names(), ", "));
}

}  // namespace jumok
