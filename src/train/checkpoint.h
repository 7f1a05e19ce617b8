// The state of a stopped training run: everything a resumed run needs to give the bits of an unbroken one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nn/parameters.h"
#include "train/optimizer.h"

namespace jumok {

// Where a run stands besides its parameters. Batches and dropout are functions of (seed, epoch, update), so two counters are their whole
// state.
struct Progressed {
  int64_t epoch = 0;         // from 0
  int64_t batch = 0;         // batches of this epoch already done
  double seconds = 0;        // of training so far, over all sessions
  int64_t tokens = 0;        // target symbols seen
  double best_score = 0;     // of the model kept in model.safetensors
  int64_t best_update = -1;  // -1: no validation yet
  int validations_without_best = 0;
  int64_t validated_update = -1;   // the last validation's; -1: none yet
  std::vector<int64_t> snapshots;  // updates of the parameter sets kept for averaging
  uint64_t corpus = 0;             // fingerprint of the training data
  uint64_t validation = 0;         // and of the validation data; 0: there is none, or it is not known
};

// One file, replaced whole: parameters, both moments, counters.
void save_checkpoint(const std::filesystem::path& path, const ParameterLayout& layout, const OptimizerState& state,
                     const Progressed& progressed);
// Throws Error for a file that is missing, damaged or of another layout.
void load_checkpoint(const std::filesystem::path& path, const ParameterLayout& layout, OptimizerState& state, Progressed& progressed);

}  // namespace jumok
