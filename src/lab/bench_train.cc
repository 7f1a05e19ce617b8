#include "lab/bench_train.h"

#include <numeric>

#include "base/float_mode.h"
#include "base/rng.h"
#include "base/workers.h"
#include "lab/train_cost.h"
#include "train/lanes.h"
#include "train/optimizer.h"

namespace jumok {
namespace {

ParallelCorpus random_corpus(const BenchTrainOptions& o, int64_t target_tokens) {
  Rng rng(1);
  std::vector<std::vector<int32_t>> sides[2];
  for (int64_t tokens = 0; tokens < target_tokens;) {
    const auto length = static_cast<size_t>(o.shortest + static_cast<int>(rng.below(o.longest - o.shortest + 1)));
    for (auto& side : sides) {
      std::vector<int32_t> s(length);
      for (auto& id : s) id = static_cast<int32_t>(3 + rng.below(o.vocabulary - 3));
      side.push_back(std::move(s));
    }
    tokens += static_cast<int64_t>(length) + 1;
  }
  return ParallelCorpus::from_symbols(sides[0], sides[1]);
}

struct MeasuredUpdates {
  int updates = 0;
  double optimiser = 0, wall = 0;  // seconds
};

std::vector<PartTime> part_times(const MeasuredUpdates& measured, const Profile& profile, const UpdateWork& work, const MachineRoof& roof) {
  const double updates = measured.updates;
  std::vector<PartTime> parts;
  double rest = measured.wall / updates;
  const auto add = [&](const char* name, double seconds, const PartWork& w) {
    parts.push_back({name, seconds, w.seconds(roof)});
    rest -= seconds;
  };
  for (size_t i = 0; i < kPartNames.size(); ++i) add(kPartNames[i], profile.seconds[i] / roof.threads / updates, work.parts[i]);
  add("sum of lanes and Adam", measured.optimiser / updates, work.optimiser);
  parts.push_back({"waiting and the rest", rest, 0});
  return parts;
}

}  // namespace

BenchTrainResult bench_train(const BenchTrainOptions& o) {
  ModelConfig config = model_preset(o.preset);
  TrainConfig train;
  train.dropout = 0.1;
  Settings settings = model_settings(config);
  settings.append(train_settings(train));
  for (const std::string& s : o.settings) settings.set_assignment(s, "--set");
  config.source_vocabulary = config.target_vocabulary = o.vocabulary;
  const auto model = make_model(config);
  const ParallelCorpus corpus = random_corpus(o, train.batch_tokens);
  std::vector<int32_t> batch(corpus.size());
  std::iota(batch.begin(), batch.end(), 0);

  const int threads = threads_or_cores(o.threads);
  BenchTrainResult result;
  result.roof = measure_machine(threads, 1.0);
  Workers workers(threads, flush_denormals);
  Lanes lanes(*model, corpus, train, 1, workers);
  OptimizerState state;
  for (auto* block : {&state.parameters, &state.m, &state.v}) block->resize(model->layout().size());
  model->layout().initialise(state.parameters.data(), 1);

  constexpr int kWarmUp = 2;
  MeasuredUpdates measured;
  const Work update = [&, u = 0]() mutable {
    if (u == kWarmUp) lanes.start_profile();
    const double begin = wall_seconds();
    const OutputLoss loss = lanes.gradients(state.parameters.data(), batch, static_cast<uint64_t>(u));
    const double middle = wall_seconds();
    update_parameters(state, {lanes.blocks(), loss.tokens}, {train, 1e-4}, workers);
    if (u++ >= kWarmUp) {
      ++measured.updates;
      measured.optimiser += wall_seconds() - middle;
      measured.wall += wall_seconds() - begin;
    }
    result.tokens_per_update = loss.tokens;
  };
  result.seconds = time_in_turn({.seconds = 0, .rounds = o.updates, .warm_up = kWarmUp, .wall = true}, {update})[0];
  result.parameters = model->layout().count();
  result.product_weights = count_product_weights(*model);
  result.flop_per_token = 6.0 * static_cast<double>(result.product_weights);
  result.tokens_per_second = rate_spread(static_cast<double>(result.tokens_per_update), result.seconds);
  result.fraction_of_peak = result.tokens_per_second.median * result.flop_per_token / result.roof.fma;
  result.parts = part_times(measured, lanes.profile(), work_of_update(*model, corpus, train.lanes), result.roof);
  result.arena_bytes = lanes.peak_arena_bytes();
  return result;
}

}  // namespace jumok
