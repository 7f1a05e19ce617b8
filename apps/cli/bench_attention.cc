// jumok bench attention: the attention kernels under each rule.
#include "bench_attention.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "lab/bench_attention.h"
#include "output.h"
#include "values.h"

namespace jumok {
namespace {

struct Options {
  BenchAttentionOptions bench;
  bool json = false;
};

nlohmann::ordered_json to_json(const Spread& s) { return {{"median", s.median}, {"least", s.least}, {"most", s.most}}; }

nlohmann::ordered_json to_json(const BenchAttentionOptions& o, const BenchAttentionResult& r) {
  nlohmann::ordered_json rates = nlohmann::ordered_json::array();
  for (const AttentionRate& rate : r.rates) {
    rates.push_back({{"rule", rate.rule},
                     {"direction", rate.backward ? "backward" : "forward"},
                     {"length", rate.length},
                     {"seconds", to_json(rate.seconds)},
                     {"flop", rate.flop},
                     {"fraction_of_peak", rate.fraction_of_peak},
                     {"against_full", rate.against_full}});
  }
  return {
      {"benchmark", "attention"},
      {"processor", r.roof.processor},
      {"fma_peak_gflops", r.roof.fma / 1e9},
      {"read_gb_per_second", r.roof.read / 1e9},
      {"heads", o.heads},
      {"width", o.width},
      {"window", o.window},
      {"rates", rates},
      {"step", {{"keys", o.cache}, {"bytes_per_second", to_json(r.step_bytes_per_second)}, {"fraction_of_read", r.step_fraction_of_read}}}};
}

int run_attention(const Options& o) {
  const BenchAttentionResult r = bench_attention(o.bench);
  if (o.json) {
    write_output(to_json(o.bench, r).dump(2) + "\n");
    return 0;
  }
  write_output(fmt::format("{}, one thread: FMA peak {:.0f} GFLOP/s, memory {:.1f} GB/s; {} heads of {}, window {}\n", r.roof.processor,
                           r.roof.fma / 1e9, r.roof.read / 1e9, o.bench.heads, o.bench.width, o.bench.window));
  write_output(fmt::format("{:>7} {:<9} {:<8} {:>10} {:>21} {:>9} {:>13}\n", "length", "", "rule", "ms", "least to most", "of peak",
                           "of full time"));
  for (const AttentionRate& rate : r.rates) {
    write_output(fmt::format("{:>7} {:<9} {:<8} {:>10.4f} {:>10.4f} {:>10.4f} {:>7.1f} % {:>13.2f}\n", rate.length,
                             rate.backward ? "backward" : "forward", rate.rule, 1e3 * rate.seconds.median, 1e3 * rate.seconds.least,
                             1e3 * rate.seconds.most, 100 * rate.fraction_of_peak, rate.against_full));
  }
  const Spread& step = r.step_bytes_per_second;
  write_output(fmt::format("step, {} keys: {:.1f} GB/s of cache (median; {:.1f} to {:.1f}), {:.2f} of the memory's rate\n", o.bench.cache,
                           step.median / 1e9, step.least / 1e9, step.most / 1e9, r.step_fraction_of_read));
  return 0;
}

}  // namespace

void add_attention_benchmark(CLI::App& bench, Command& command) {
  auto o = std::make_shared<Options>();
  BenchAttentionOptions& b = o->bench;
  CLI::App* sub = bench.add_subcommand("attention", "The attention kernels under each rule, forward and backward, and a step with a cache");
  sub->add_option("--heads", b.heads, "Heads")->check(whole(1, 1024));
  sub->add_option("--width", b.width, "Width of a head")->check(whole(1, 4096));
  sub->add_option("--lengths", b.lengths, "Queries, and as many keys; one or more")->check(whole(1, 65536));
  sub->add_option("--window", b.window, "Keys that a query sees in its window")->check(whole(1, 65536));
  sub->add_option("--cache", b.cache, "Keys of the step's cache")->check(whole(1, 1000000));
  sub->add_option("--seconds", b.seconds, "Time for each measurement")->check(real(0.001, 60));
  sub->add_flag("--json", o->json, "Print one JSON object");
  sub->callback([o, &command] { command = [o] { return run_attention(*o); }; });
}

}  // namespace jumok
