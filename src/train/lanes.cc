#include "train/lanes.h"

#include <algorithm>

namespace jumok {

Lanes::Lanes(const EncoderDecoder& model, const ParallelCorpus& corpus, const TrainConfig& config, uint64_t seed, Workers& workers)
    : model_(model),
      corpus_(corpus),
      config_(config),
      seed_(seed),
      workers_(workers),
      lengths_(corpus.longer_lengths()),
      blocks_(config.lanes, std::vector<float>(model.layout().size())),
      memory_(workers.size()) {
  for (int i = 0; i < corpus.size(); ++i) costs_.push_back(corpus.source_lengths()[i] + corpus.target_lengths()[i] + 2);
}

OutputLoss Lanes::gradients(const float* parameters, std::span<const int32_t> batch, uint64_t update) {
  const auto lanes = split_lanes(batch, costs_, config_.lanes);
  std::vector<OutputLoss> losses(lanes.size());
  workers_.run(static_cast<int>(lanes.size()), [&](int lane, int worker) {
    losses[lane] = run_lane(parameters, lanes[lane], update, memory_[worker], blocks_[lane].data());
  });
  OutputLoss sum;
  for (const OutputLoss& l : losses) {
    sum.loss += l.loss;
    sum.nll += l.nll;
    sum.tokens += l.tokens;
  }
  return sum;
}

OutputLoss Lanes::run_lane(const float* parameters, std::span<const int32_t> sentences, uint64_t update, LaneMemory& memory,
                           float* gradients) const {
  std::fill_n(gradients, model_.layout().size(), 0.0f);
  OutputLoss sum;
  for (const auto& micro_batch : split_rows(sentences, lengths_, config_.micro_batch_rows)) {
    memory.arena.reset();
    memory.tape.clear();
    Context context{memory.arena, parameters, &memory.tape, gradients};
    if (profiling_) context.profile = &memory.profile;
    const OutputLoss l = run_micro_batch(context, micro_batch, update);
    sum.loss += l.loss;
    sum.nll += l.nll;
    sum.tokens += l.tokens;
  }
  return sum;
}

OutputLoss Lanes::run_micro_batch(Context& context, std::span<const int32_t> sentences, uint64_t update) const {
  const PackedRows source = pack_source(corpus_, sentences);
  const PackedTarget target = pack_target(corpus_, sentences);
  const auto source_keys = row_keys(source, seed_, update, Side::kSource);
  const auto target_keys = row_keys(target.input, seed_, update, Side::kTarget);
  PairBatch batch{source, target, source_keys, target_keys};
  batch.dropout = config_.dropout;
  batch.attention_dropout = config_.attention_dropout;
  batch.smoothing = config_.label_smoothing;
  const OutputLoss loss = model_.loss(context, batch);
  context.tape->backward();
  return loss;
}

void Lanes::start_profile() {
  profiling_ = true;
  for (LaneMemory& m : memory_) m.profile = {};
}

Profile Lanes::profile() const {
  Profile sum;
  for (const LaneMemory& m : memory_) {
    for (size_t i = 0; i < sum.seconds.size(); ++i) sum.seconds[i] += m.profile.seconds[i];
  }
  return sum;
}

int64_t Lanes::peak_arena_bytes() const {
  int64_t sum = 0;
  for (const LaneMemory& m : memory_) sum += m.arena.peak_bytes();
  return sum;
}

}  // namespace jumok
