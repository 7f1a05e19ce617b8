// The gradient of an update, computed in lanes: parts of equal cost, each on one thread, chosen by content alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/workers.h"
#include "data/batches.h"
#include "models/encoder_decoder.h"
#include "train/train_config.h"

namespace jumok {

// What one worker computes with: reused from update to update, so that a steady state allocates nothing.
struct LaneMemory {
  Arena arena;
  Tape tape;
  Profile profile;
};

class Lanes {
 public:
  Lanes(const EncoderDecoder& model, const ParallelCorpus& corpus, const TrainConfig& config, uint64_t seed, Workers& workers);

  // Gradients of the summed loss over the sentences of `batch`, one block a lane, and the sums themselves. `update` enters the dropout
  // keys.
  OutputLoss gradients(const float* parameters, std::span<const int32_t> batch, uint64_t update);

  std::vector<std::vector<float>>& blocks() { return blocks_; }
  int64_t peak_arena_bytes() const;
  // From now on every op's time is added up; profile() gives the sum over the workers.
  void start_profile();
  Profile profile() const;

 private:
  OutputLoss run_lane(const float* parameters, std::span<const int32_t> sentences, uint64_t update, LaneMemory& memory,
                      float* gradients) const;
  OutputLoss run_micro_batch(Context& context, std::span<const int32_t> sentences, uint64_t update) const;

  const EncoderDecoder& model_;
  const ParallelCorpus& corpus_;
  const TrainConfig& config_;
  uint64_t seed_;
  Workers& workers_;
  std::vector<int32_t> lengths_;            // of each sentence's longer side: what a micro-batch is cut by
  std::vector<int64_t> costs_;              // of each sentence: its rows on both sides
  std::vector<std::vector<float>> blocks_;  // one gradient block a lane
  std::vector<LaneMemory> memory_;          // one a worker
  bool profiling_ = false;
};

}  // namespace jumok
