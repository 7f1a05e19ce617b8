// The training loop: updates, validations, the best model kept, state saved.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "jumok/trainer.h"
#include "train/checkpoint.h"
#include "train/events.h"
#include "train/lanes.h"
#include "train/snapshots.h"
#include "train/validation.h"

namespace jumok {

// What the loop works on; everything outlives it.
struct TrainerInput {
  const EncoderDecoder& model;
  const SubwordPair& subwords;
  const ParallelCorpus& corpus;     // at least one pair
  const ValidationSet* validation;  // null: none
  const TrainConfig& config;
  const TrainOptions& options;  // limits, seed, callbacks, directory
  Workers& workers;
};

class Trainer {
 public:
  // Starts from first values keyed by the seed, or where `resume` finds the checkpoint of the model directory.
  explicit Trainer(const TrainerInput& input);
  TrainResult run();

  const OptimizerState& state() const { return state_; }
  const std::vector<nlohmann::ordered_json>& events() const { return events_->events(); }  // of all sessions

 private:
  void start_fresh();
  void resume();
  void one_epoch();
  void one_update(std::span<const int32_t> batch);
  void report(const OutputLoss& loss, const UpdateResult& result);
  void after_update();
  void validate_now();
  bool is_better(const ValidationScores& scores, double& value) const;
  void keep_model(const std::vector<float>& parameters);
  void save();
  void finish();
  void check_limits();
  double seconds() const;
  double fraction() const;
  TrainProgress progress() const;
  void tell(TrainProgress p);

  TrainerInput in_;
  std::filesystem::path checkpoint_folder_;
  OptimizerState state_;
  Progressed at_;
  std::optional<Snapshots> snapshots_;
  std::optional<EventLog> events_;
  Lanes lanes_;
  double peak_;
  size_t batches_in_epoch_ = 0;
  std::optional<TrainEnd> end_;
  std::exception_ptr thrown_;  // by a callback
  std::chrono::steady_clock::time_point began_;
  double seconds_before_ = 0;  // of earlier sessions

  struct Window {  // since the last report
    double nll = 0, seconds = 0;
    int64_t tokens = 0;
  } window_;
  double last_loss_ = 0, last_speed_ = 0;
  int skipped_in_a_row_ = 0;
};

}  // namespace jumok
