// What a training run is asked for: its model and settings, where its texts are, and how all this is stored so that the run can go on.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jumok/trainer.h"
#include "models/config.h"
#include "models/model_files.h"
#include "text/subwords.h"
#include "train/train_config.h"

namespace jumok {

struct Configs {
  ModelConfig model;
  TrainConfig train;
  bool pairs() const { return model.architecture != Architecture::kLanguageModel; }  // learns from source and target, or from one text
};

// The preset with "key=value" settings over it. Throws Error for a setting that is unknown or out of range, and where values do not fit
// together.
Configs new_configs(const std::string& preset, const std::vector<std::string>& settings);
// Both tables as one, so that --set finds every key; refers to `configs`.
Settings all_settings(Configs& configs);

// Throws Error for a name that is none.
SubwordKind subword_kind(const std::string& name);
// Of two vocabularies not all embeddings can be one matrix: refused where it was asked for, else the target's are tied.
void untie_source(const TrainOptions& options, ModelConfig& config);

// A run on its way.
struct Session {
  TrainOptions options;
  Configs configs;
  nlohmann::ordered_json stored;                        // the "training" part of config.json; of a resumed run
  bool stored_text = false, stored_validation = false;  // these paths come from there
};

// Throw Error for options that contradict each other, a folder that is in use, one that holds no run.
Session fresh_session(const TrainOptions& options);
Session resumed_session(const TrainOptions& options);

// The model folder says what the run is: of a fresh run everything, after what an earlier run left is out of the way; of a resumed one the
// limits and the places of its texts, where they are others now: the next time goes on with these.
void write_session(Session& session, const SubwordPair& subwords);

}  // namespace jumok
