// What a model is made of: the architecture part of config.json.
#pragma once

#include <string>
#include <vector>

#include "attention/multi_head.h"
#include "models/rnn_config.h"
#include "models/settings.h"

namespace jumok {

enum class Norm { kPre, kPost };  // LN before the sublayer (as today) or after the sum (Vaswani 2017)
enum class Positions { kSinusoidal, kLearned, kNone };
enum class Tying { kAll, kTargetOutput, kNone };  // which of source embedding, target embedding, output weight are one matrix

enum class Architecture { kTransformer, kRnn, kLanguageModel };

struct ModelConfig {
  Architecture architecture = Architecture::kTransformer;
  int encoder_layers = 4, decoder_layers = 4;
  int width = 128;               // D
  int heads = 4;                 // H
  int feed_forward_width = 256;  // F
  Norm norm = Norm::kPre;
  Positions positions = Positions::kSinusoidal;
  int max_positions = 1024;  // symbols of a sentence, end symbol included
  Tying tying = Tying::kAll;

  HeadOptions head_options;  // of the Transformer; width and heads are those above
  RnnConfig rnn;             // of the recurrent models, which do not read feed_forward_width, norm, positions

  int source_vocabulary = 0, target_vocabulary = 0;  // from the subword models, not settable

  // Throws Error when the values do not fit together (heads must divide the width, …): one line that ends in the nearest settings, "…; set
  // KEY=VALUE and KEY=VALUE, or KEY=VALUE"; from there it is a model, or one or two more such lines to one.
  void validate() const;
};

// "transformer", "rnn" or "language-model", as config.json has it; parse throws Error.
std::string architecture_name(Architecture architecture);
Architecture parse_architecture(const std::string& name);

// Defaults of an architecture, the base of its presets and of what a config.json leaves out.
ModelConfig empty_config(Architecture architecture);

// Of the recurrent models: the width of an encoder state h_j, both directions together.
int encoder_width(const ModelConfig& config);
// Their part of validate() and model_settings().
void validate_rnn(const ModelConfig& config);
Settings rnn_settings(ModelConfig& config);

// The nearest number of heads that `width` can be dealt to.
int nearest_heads(int width, int heads);

// The table of a config's options, those of its architecture; refers to `config`. Knows the others' keys as such.
Settings model_settings(ModelConfig& config);

// "transformer-tiny", "-small", "-base", "-big"; "rnn-none", "rnn-bahdanau", "rnn-luong-dot", "-general", "-concat", "-location";
// "lm-tiny", "lm-small"; throws Error naming the valid ones.
ModelConfig model_preset(const std::string& name);
std::vector<std::string> preset_names();

}  // namespace jumok
