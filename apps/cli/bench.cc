// jumok bench: rates of the engine as fractions of what the machine can do.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "jumok/trainer.h"
#include "lab/bench_train.h"
#include "output.h"

namespace jumok {
namespace {

struct Options {
  BenchTrainOptions train;
  bool json = false;
};

nlohmann::ordered_json to_json(const BenchTrainOptions& o, const BenchTrainResult& r) {
  nlohmann::ordered_json parts;
  for (size_t i = 0; i < kPartNames.size(); ++i) parts[kPartNames[i]] = r.profile.seconds[i];
  return {{"benchmark", "train"},
          {"preset", o.preset},
          {"processor", r.roof.processor},
          {"threads", r.roof.threads},
          {"fma_peak_gflops", r.roof.fma / 1e9},
          {"read_gb_per_second", r.roof.read / 1e9},
          {"parameters", r.parameters},
          {"flop_per_token", r.flop_per_token},
          {"tokens_per_update", r.tokens_per_update},
          {"tokens_per_second", {{"median", r.tokens_per_second.median}, {"least", r.tokens_per_second.least}, {"most", r.tokens_per_second.most}}},
          {"fraction_of_peak", r.fraction_of_peak},
          {"worker_seconds", parts},
          {"optimiser_seconds", r.optimiser_seconds},
          {"wall_seconds", r.wall_seconds},
          {"activation_bytes", r.arena_bytes}};
}

void print_parts(const BenchTrainResult& r) {
  const double all = r.wall_seconds * r.roof.threads;
  double named = r.optimiser_seconds * r.roof.threads;
  for (size_t i = 0; i < kPartNames.size(); ++i) {
    named += r.profile.seconds[i];
    write_output(fmt::format("  {:<24}{:5.1f} %\n", kPartNames[i], 100 * r.profile.seconds[i] / all));
  }
  write_output(fmt::format("  {:<24}{:5.1f} %\n", "sum of lanes and Adam", 100 * r.optimiser_seconds * r.roof.threads / all));
  write_output(fmt::format("  {:<24}{:5.1f} %\n", "waiting and the rest", 100 * (all - named) / all));
}

int run(const Options& o) {
  const BenchTrainResult r = bench_train(o.train);
  if (o.json) {
    write_output(to_json(o.train, r).dump(2) + "\n");
    return 0;
  }
  write_output(fmt::format("{}: {} parameters, {:.1f} MFLOP a target symbol\n", o.train.preset, r.parameters, r.flop_per_token / 1e6));
  write_output(fmt::format("{}, {} threads: FMA peak {:.0f} GFLOP/s, memory {:.1f} GB/s\n", r.roof.processor, r.roof.threads, r.roof.fma / 1e9,
                           r.roof.read / 1e9));
  write_output(fmt::format("{:.0f} target symbols/s (median of {} updates of {}; {:.0f} to {:.0f}): {:.1f} % of the peak\n", r.tokens_per_second.median,
                           o.train.updates, r.tokens_per_update, r.tokens_per_second.least, r.tokens_per_second.most, 100 * r.fraction_of_peak));
  write_output(fmt::format("activations: {:.0f} MB\nwhere the time of the threads goes:\n", static_cast<double>(r.arena_bytes) / 1e6));
  print_parts(r);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("bench", "Measure the engine against the machine's roof");
  sub->require_subcommand(1);
  CLI::App* train = sub->add_subcommand("train", "Training speed of a preset on random sentences");
  train->add_option("--preset", o->train.preset, "Shape of the model")->check(CLI::IsMember(list_presets()))->capture_default_str();
  train->add_option("--set", o->train.settings, "key=value, over the preset's; repeatable");
  train->add_option("--vocabulary", o->train.vocabulary, "Symbols of the joint vocabulary")->check(CLI::Range(8, 1000000))->capture_default_str();
  train->add_option("--threads", o->train.threads, "Threads; 0: one a core")->check(CLI::Range(0, 4096))->capture_default_str();
  train->add_option("--updates", o->train.updates, "Updates measured, after two of warm-up")->check(CLI::Range(1, 100000))->capture_default_str();
  train->add_flag("--json", o->json, "Print one JSON object");
  train->callback([o, &command] { command = [o] { return run(*o); }; });
}

}  // namespace jumok
