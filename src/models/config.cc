#include "models/config.h"

#include <algorithm>

#include "base/error.h"

namespace jumok {
namespace {

constexpr int kMostHeads = 128;

constexpr std::pair<const char*, Architecture> kArchitectures[] = {
    {"transformer", Architecture::kTransformer}, {"rnn", Architecture::kRnn}, {"language-model", Architecture::kLanguageModel}};

struct TransformerPreset {
  const char* name;
  int layers, width, heads, feed_forward;
};
// Tiny: Wu et al. 2021 for Multi30k; base and big: Vaswani et al. 2017, table 3; small is ours.
constexpr TransformerPreset kTransformers[] = {
    {"transformer-tiny", 4, 128, 4, 256},
    {"transformer-small", 4, 256, 4, 1024},
    {"transformer-base", 6, 512, 8, 2048},
    {"transformer-big", 6, 1024, 16, 4096},
};

// Decoder-only; the shapes are ours: small has the depth of GPT (Radford et al. 2018 §4.1) at half its width.
constexpr TransformerPreset kLanguageModels[] = {
    {"lm-tiny", 4, 128, 4, 512},
    {"lm-small", 12, 384, 6, 1536},
};

// The mechanism of each paper; the widths are ours (D = 256, one layer a side).
struct RnnPreset {
  const char* name;
  Score score;
};
constexpr RnnPreset kRnns[] = {
    {"rnn-none", Score::kNoneInitial},      {"rnn-bahdanau", Score::kAdditive},   {"rnn-luong-dot", Score::kDot},
    {"rnn-luong-general", Score::kGeneral}, {"rnn-luong-concat", Score::kConcat}, {"rnn-luong-location", Score::kLocation},
};

ModelConfig transformer(const TransformerPreset& p, Architecture architecture) {
  ModelConfig c = empty_config(architecture);
  c.decoder_layers = p.layers;
  if (architecture == Architecture::kTransformer) c.encoder_layers = p.layers;
  c.width = p.width;
  c.heads = p.heads;
  c.feed_forward_width = p.feed_forward;
  return c;
}

ModelConfig recurrent(const RnnPreset& p) {
  ModelConfig c = empty_config(Architecture::kRnn);
  c.encoder_layers = c.decoder_layers = 1;
  c.width = 256;
  c.rnn.score = p.score;
  if (p.score == Score::kAdditive) {  // Bahdanau 2015: GRU, both directions as wide as the decoder
    c.rnn.wide = true;
    return c;
  }
  c.rnn.cell = kernels::Cell::kLstm;
  c.rnn.first_state = FirstState::kCopy;
  c.rnn.place = Place::kAfter;
  c.rnn.readout = Readout::kTanh;
  if (!has_attention(p.score)) {  // Sutskever 2014
    c.rnn.readout = Readout::kPlain;
    c.rnn.bidirectional = false;
    c.rnn.reversed = true;
  }
  return c;
}

void validate_heads(const HeadOptions& h) {
  std::string missing;
  for (const auto& [name, there] : {std::pair("query", h.query), std::pair("key", h.key), std::pair("value", h.value)}) {
    if (!there) missing += fmt::format("{}attention.project-{}=true", missing.empty() ? "" : " and ", name);
  }
  const bool one = h.sharing == Sharing::kOne, shared = h.sharing != Sharing::kSeparate;
  check(!shared || h.score != Score::kDot,
        "cross-attention.score = dot: keys are not projected, so nothing can share their projection; set attention.sharing=separate, or "
        "cross-attention.score={}",
        one ? "scaled-dot" : "general");
  check(!one || h.score != Score::kGeneral,
        "cross-attention.score = general: queries are not projected, so they share no projection; set attention.sharing={}, or "
        "cross-attention.score=scaled-dot",
        missing.empty() ? "key-is-value" : "separate");
  check(!shared || missing.empty(), "attention.sharing: sharing wants all three projections; set attention.sharing=separate, or {}",
        missing);
}

void add_stack_settings(Settings& s, ModelConfig& c) {
  s.integer("decoder.layers", c.decoder_layers, 1, 64, "layers of the decoder");
  s.integer("model.width", c.width, 8, 8192, "width D of every layer's input and output");
  s.integer("attention.heads", c.heads, 1, kMostHeads, "attention heads H; must divide the width");
  s.integer("feed-forward.width", c.feed_forward_width, 8, 65536, "inner width F of the feed-forward networks");
  s.choice<Norm>("model.norm", c.norm, {{"pre", Norm::kPre}, {"post", Norm::kPost}},
                 "layer norm before each sublayer, or after each sum as in the paper");
  s.choice<Positions>("positions.kind", c.positions,
                      {{"sinusoidal", Positions::kSinusoidal}, {"learned", Positions::kLearned}, {"none", Positions::kNone}},
                      "how a symbol knows its place");
  s.integer("positions.max", c.max_positions, 8, 65536, "longest sentence in subword symbols, end symbol included");
  HeadOptions& h = c.head_options;
  s.flag("attention.scale", h.scale, "scores are divided by the square root of the head width");
  s.flag("attention.project-query", h.query, "queries are projected by W_Q, or the input itself asks");
  s.flag("attention.project-key", h.key, "keys are projected by W_K, or the input itself answers");
  s.flag("attention.project-value", h.value, "values are projected by W_V, or the input itself is mixed");
  s.choice<Sharing>("attention.sharing", h.sharing,
                    {{"separate", Sharing::kSeparate}, {"key-is-value", Sharing::kKeyIsValue}, {"one", Sharing::kOne}},
                    "W_Q, W_K and W_V are three matrices, or W_V is W_K, or all are one");
}

Settings transformer_settings(ModelConfig& c) {
  Settings s;
  s.integer("encoder.layers", c.encoder_layers, 1, 64, "layers of the encoder");
  add_stack_settings(s, c);
  s.choice<Score>("cross-attention.score", c.head_options.score,
                  {{"scaled-dot", Score::kScaledDot}, {"additive", Score::kAdditive}, {"dot", Score::kDot}, {"general", Score::kGeneral}},
                  "how the decoder's states are compared with the encoder's");
  return s;
}

constexpr char kTyingHelp[] = "which embeddings share one matrix; all needs a joint vocabulary";

// No source: `all` ties the symbols read to those written.
Settings language_model_settings(ModelConfig& c) {
  Settings s;
  add_stack_settings(s, c);
  s.choice<Tying>("embedding.tying", c.tying, {{"all", Tying::kAll}, {"none", Tying::kNone}}, kTyingHelp);
  return s;
}

Settings own_settings(ModelConfig& c) {
  if (c.architecture == Architecture::kLanguageModel) return language_model_settings(c);
  Settings s = c.architecture == Architecture::kRnn ? rnn_settings(c) : transformer_settings(c);
  s.choice<Tying>("embedding.tying", c.tying, {{"all", Tying::kAll}, {"target-output", Tying::kTargetOutput}, {"none", Tying::kNone}},
                  kTyingHelp);
  return s;
}

// What an architecture has in place of another's key.
std::string counterpart_of(const std::string& key, Architecture architecture) {
  constexpr struct {
    Architecture architecture;
    const char *key, *counterpart;
  } kCounterparts[] = {
      {Architecture::kTransformer, "attention.score", "a Transformer has \"cross-attention.score\""},
      {Architecture::kTransformer, "encoder.width", "a Transformer has \"model.width\""},
      {Architecture::kRnn, "cross-attention.score", "recurrent models have \"attention.score\""},
      {Architecture::kRnn, "attention.scale", "recurrent models have \"attention.score\" (dot, scaled-dot)"},
  };
  for (const auto& c : kCounterparts) {
    if (c.architecture == architecture && key == c.key) return c.counterpart;
  }
  return "";
}

// The keys of the other architectures, with whose they are.
void add_foreign_keys(Settings& s, Architecture architecture) {
  std::vector<Settings::Foreign> foreign;
  for (const auto& [other, owner] :
       {std::pair(Architecture::kTransformer, "Transformers"), std::pair(Architecture::kRnn, "recurrent models"),
        std::pair(Architecture::kLanguageModel, "language models")}) {
    ModelConfig unused = empty_config(other);
    const Settings settings = own_settings(unused);
    for (const Setting& setting : settings.all()) {
      const auto has_key = [&key = setting.key](const auto& x) { return x.key == key; };
      if (std::any_of(s.all().begin(), s.all().end(), has_key)) continue;
      const auto known = std::find_if(foreign.begin(), foreign.end(), has_key);
      if (known == foreign.end()) {
        foreign.push_back({setting.key, owner, counterpart_of(setting.key, architecture)});
      } else {
        known->owner += fmt::format(" and {}", owner);
      }
    }
  }
  for (Settings::Foreign& f : foreign) s.foreign(std::move(f));
}

}  // namespace

std::string architecture_name(Architecture architecture) {
  for (const auto& [name, a] : kArchitectures) {
    if (a == architecture) return name;
  }
  return "";
}

Architecture parse_architecture(const std::string& name) {
  for (const auto& [known, a] : kArchitectures) {
    if (name == known) return a;
  }
  fail("architecture \"{}\": expected transformer, rnn or language-model", name);
}

ModelConfig empty_config(Architecture architecture) {
  ModelConfig c;
  c.architecture = architecture;
  if (architecture == Architecture::kRnn) {
    c.heads = 1;
    c.max_positions = 65536;  // a recurrent model has no last position; a length still has to fit a packed batch
  }
  if (architecture == Architecture::kLanguageModel) c.encoder_layers = 0;
  return c;
}

int nearest_heads(int width, int heads) {
  for (int distance = 0;; ++distance) {  // ends at 1, which divides every width
    for (const int h : {heads + distance, heads - distance}) {
      if (h >= 1 && h <= kMostHeads && width % h == 0) return h;
    }
  }
}

void ModelConfig::validate() const {
  check(tying != Tying::kAll || source_vocabulary == target_vocabulary,
        "embedding.tying = all: expected one joint vocabulary, found {} source and {} target symbols; set embedding.tying={}",
        source_vocabulary, target_vocabulary, architecture == Architecture::kLanguageModel ? "none" : "target-output");
  if (architecture == Architecture::kRnn) return validate_rnn(*this);
  check(width % heads == 0, "attention.heads = {}: expected a divisor of model.width = {}; set attention.heads={}", heads, width,
        nearest_heads(width, heads));
  validate_heads(head_options);
  int even = width + 1;
  while (even % 2 != 0 || even % heads != 0) ++even;
  check(positions != Positions::kSinusoidal || width % 2 == 0,
        "model.width = {}: sinusoidal positions want an even width; set model.width={}, or positions.kind=learned", width, even);
}

Settings model_settings(ModelConfig& c) {
  Settings s = own_settings(c);
  add_foreign_keys(s, c.architecture);
  return s;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const TransformerPreset& p : kTransformers) names.push_back(p.name);
  for (const RnnPreset& p : kRnns) names.push_back(p.name);
  for (const TransformerPreset& p : kLanguageModels) names.push_back(p.name);
  return names;
}

ModelConfig model_preset(const std::string& name) {
  for (const TransformerPreset& p : kTransformers) {
    if (name == p.name) return transformer(p, Architecture::kTransformer);
  }
  for (const TransformerPreset& p : kLanguageModels) {
    if (name == p.name) return transformer(p, Architecture::kLanguageModel);
  }
  for (const RnnPreset& p : kRnns) {
    if (name == p.name) return recurrent(p);
  }
  fail("preset \"{}\": expected one of {}", name, fmt::join(preset_names(), ", "));
}

}  // namespace jumok
