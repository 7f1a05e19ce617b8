// What a model is made of: the architecture part of config.json.
#pragma once

#include <string>
#include <vector>

#include "models/settings.h"

namespace jumok {

enum class Norm { kPre, kPost };  // LN before the sublayer (as today) or after the sum (Vaswani 2017)
enum class Positions { kSinusoidal, kLearned, kNone };
enum class Tying { kAll, kTargetOutput, kNone };  // which of source embedding, target embedding, output weight are one matrix

struct ModelConfig {
  int encoder_layers = 4, decoder_layers = 4;
  int width = 128;               // D
  int heads = 4;                 // H
  int feed_forward_width = 256;  // F
  Norm norm = Norm::kPre;
  Positions positions = Positions::kSinusoidal;
  int max_positions = 1024;  // symbols of a sentence, end symbol included
  Tying tying = Tying::kAll;

  int source_vocabulary = 0, target_vocabulary = 0;  // from the subword models, not settable

  // Throws Error when the values do not fit together (heads must divide the width, …).
  void validate() const;
};

// The table of a config's options; refers to `config`.
Settings model_settings(ModelConfig& config);

// "transformer-tiny", "-small", "-base", "-big"; throws Error naming the valid ones.
ModelConfig model_preset(const std::string& name);
std::vector<std::string> preset_names();

}  // namespace jumok
