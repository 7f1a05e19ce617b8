// jumok bench: rates of the engine as fractions of what the machine can do.
#include <fmt/format.h>

#include <memory>

#include "bench_attention.h"
#include "bench_gemm.h"
#include "bench_output.h"
#include "commands.h"
#include "jumok/trainer.h"
#include "lab/bench_train.h"
#include "lab/bench_translate.h"
#include "output.h"
#include "usage.h"
#include "values.h"

namespace jumok {
namespace {

struct Options {
  BenchTrainOptions train;
  BenchTranslateOptions translate;
  bool json = false;
};

BenchJson to_json(const BenchTrainOptions& o, const BenchTrainResult& r) {
  BenchJson parts;
  for (const PartTime& p : r.parts) {
    parts[p.name] = {{"seconds", p.seconds}, {"roof_seconds", p.roof_seconds > 0 ? BenchJson(p.roof_seconds) : BenchJson()}};
  }
  BenchJson row = bench_row("update", r.seconds);
  row.update({{"tokens_per_update", r.tokens_per_update},
              {"tokens_per_second", to_json(r.tokens_per_second)},
              {"flop_per_token", r.flop_per_token},
              {"fraction_of_peak", r.fraction_of_peak},
              {"parts", parts},
              {"activation_bytes", r.arena_bytes}});
  return bench_object("train", r.roof,
                      {{"preset", o.preset}, {"settings", o.settings}, {"vocabulary", o.vocabulary}, {"parameters", r.parameters}},
                      BenchJson::array({row}));
}

void print_parts(const BenchTrainResult& r) {
  double all = 0;
  for (const PartTime& p : r.parts) all += p.seconds;
  write_output(fmt::format("  {:<24}{:>10}{:>9}{:>16}\n", "where an update goes", "ms", "share", "ms at the roof"));
  for (const PartTime& p : r.parts) {
    const std::string roof = p.roof_seconds > 0 ? fmt::format("{:.1f}", 1e3 * p.roof_seconds) : "–";
    write_output(fmt::format("  {:<24}{:10.1f}{:7.1f} %{:>16}\n", p.name, 1e3 * p.seconds, 100 * p.seconds / all, roof));
  }
}

int run_train(const Options& o) {
  const BenchTrainResult r = bench_train(o.train);
  if (o.json) {
    write_output(to_json(o.train, r).dump(2) + "\n");
    return 0;
  }
  write_output(fmt::format("{}: {} parameters, {:.1f} MFLOP a target symbol\n", o.train.preset, r.parameters, r.flop_per_token / 1e6));
  write_output(machine_line(r.roof) + "\n");
  write_output(fmt::format("{:.0f} target symbols/s (median of {} updates of {}; quartiles {:.0f} to {:.0f}): {:.1f} % of the peak\n",
                           r.tokens_per_second.median, o.train.updates, r.tokens_per_update, r.tokens_per_second.lower,
                           r.tokens_per_second.upper, 100 * r.fraction_of_peak));
  write_output(fmt::format("activations: {:.0f} MB\n", static_cast<double>(r.arena_bytes) / 1e6));
  print_parts(r);
  return 0;
}

int run_translate(const Options& o) {
  const BenchTranslateOptions& t = o.translate;
  const BenchTranslateResult r = bench_translate(t);
  if (o.json) {
    BenchJson row = bench_row("round", r.seconds);
    row["tokens_per_second"] = to_json(r.tokens_per_second);
    const BenchJson settings = {{"preset", t.preset}, {"settings", t.settings}, {"vocabulary", t.vocabulary}, {"sentences", t.sentences}};
    write_output(bench_object("translate", r.roof, settings, BenchJson::array({row})).dump(2) + "\n");
    return 0;
  }
  write_output(fmt::format("{}: {} parameters, greedy, {} sentences of {} symbols a batch, {} steps\n", t.preset, r.parameters, t.sentences,
                           t.source_length, t.target_length));
  write_output(machine_line(r.roof) + "\n");
  write_output(fmt::format("{:.0f} target symbols/s (median; quartiles {:.0f} to {:.0f})\n", r.tokens_per_second.median,
                           r.tokens_per_second.lower, r.tokens_per_second.upper));
  return 0;
}

void add_train_benchmark(CLI::App& sub, const std::shared_ptr<Options>& o, Command& command) {
  CLI::App* train = sub.add_subcommand("train", "Training speed of a preset on random sentences");
  train->add_option("--preset", o->train.preset, "Shape of the model")->check(one_of(list_presets()))->type_name("NAME");
  train->add_option("--set", o->train.settings, "A setting over the preset's; jumok train --list-settings shows all of them; repeatable")
      ->type_name("KEY=VALUE");
  train->add_option("--vocabulary", o->train.vocabulary, "Symbols of the joint vocabulary")->check(whole(8, 1000000))->type_name("N");
  train->add_option("--threads", o->train.threads, "Threads; 0: one a core")->check(whole(0, 4096))->type_name("N");
  train->add_option("--updates", o->train.updates, "Updates measured, after two of warm-up")->check(whole(1, 100000))->type_name("N");
  train->add_flag("--json", o->json, "Print one JSON object");
  train->callback([o, &command] {
    as_usage([&] { list_settings(o->train.preset, o->train.settings); });
    command = [o] { return run_train(*o); };
  });
}

void add_translate_benchmark(CLI::App& sub, const std::shared_ptr<Options>& o, Command& command) {
  BenchTranslateOptions& t = o->translate;
  CLI::App* translate = sub.add_subcommand("translate", "Greedy decoding speed of a preset with random parameters");
  translate->add_option("--preset", t.preset, "Shape of the model")->check(one_of(list_presets()))->type_name("NAME");
  translate->add_option("--set", t.settings, "A setting over the preset's; jumok train --list-settings shows all of them; repeatable")
      ->type_name("KEY=VALUE");
  translate->add_option("--vocabulary", t.vocabulary, "Symbols of the joint vocabulary")->check(whole(8, 1000000))->type_name("N");
  translate->add_option("--threads", t.threads, "Threads, each with whole batches; 0: one a core")->check(whole(0, 4096))->type_name("N");
  translate->add_option("--sentences", t.sentences, "Sentences of a batch")->check(whole(1, 100000))->type_name("N");
  translate->add_option("--batches", t.batches, "Rounds measured, after one of warm-up")->check(whole(1, 100000))->type_name("N");
  translate->add_flag("--json", o->json, "Print one JSON object");
  translate->callback([o, &command] {
    as_usage([&] { list_settings(o->translate.preset, o->translate.settings); });
    command = [o] { return run_translate(*o); };
  });
}

}  // namespace

void add_bench(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("bench", "Measure the engine against the machine's roof");
  sub->require_subcommand(1);
  add_train_benchmark(*sub, o, command);
  add_translate_benchmark(*sub, o, command);
  add_attention_benchmark(*sub, command);
  add_gemm_benchmark(*sub, command);
}

}  // namespace jumok
