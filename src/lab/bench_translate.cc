#include "lab/bench_translate.h"

#include "base/float_mode.h"
#include "base/rng.h"
#include "base/workers.h"
#include "models/encoder_decoder.h"
#include "search/greedy.h"
#include "text/subwords.h"

namespace jumok {
namespace {

std::vector<std::vector<int32_t>> random_sources(const BenchTranslateOptions& o) {
  Rng rng(2);
  std::vector<std::vector<int32_t>> sources(o.sentences, std::vector<int32_t>(o.source_length));
  for (auto& s : sources) {
    for (auto& id : s) id = static_cast<int32_t>(3 + rng.below(o.vocabulary - 3));
  }
  return sources;
}

}  // namespace

BenchTranslateResult bench_translate(const BenchTranslateOptions& o) {
  ModelConfig config = model_preset(o.preset);
  Settings settings = model_settings(config);
  for (const std::string& s : o.settings) settings.set_assignment(s, "--set");
  config.source_vocabulary = config.target_vocabulary = o.vocabulary;
  const auto model = make_model(config);
  std::vector<float> parameters(model->layout().size());
  model->layout().initialise(parameters.data(), 1);

  SearchOptions search;
  search.beam = 1;
  search.start = kStart;
  search.end = kEnd;
  search.unknown = kUnknown;
  search.max_length = search.min_length = o.target_length;
  const PackedRows source = pack_source(random_sources(o));

  BenchTranslateResult result;
  const int threads = threads_or_cores(o.threads);
  result.roof = measure_machine(threads, 1.0);
  result.parameters = model->layout().count();
  Workers workers(threads, flush_denormals);
  const Work round = [&] { workers.run(threads, [&](int, int) { greedy_search(*model->start(parameters.data(), source), search); }); };
  result.seconds = time_in_turn({.seconds = 0, .rounds = o.batches, .wall = true}, {round})[0];
  result.tokens_per_second = rate_spread(static_cast<double>(threads) * o.sentences * o.target_length, result.seconds);
  return result;
}

}  // namespace jumok
