// jumok bench gemm: the matrix products of training.
#include "bench_gemm.h"

#include <fmt/format.h>

#include <memory>

#include "bench_output.h"
#include "lab/bench_gemm.h"
#include "output.h"
#include "values.h"

namespace jumok {
namespace {

struct Options {
  BenchGemmOptions bench;
  bool json = false;
};

BenchJson to_json(const BenchGemmOptions& o, const BenchGemmResult& r) {
  BenchJson rows = BenchJson::array();
  for (const GemmRate& rate : r.rates) {
    BenchJson row = bench_row(fmt::format("{} {} {} {}", rate.model, rate.layer, rate.rows, rate.product), rate.seconds);
    row.update({{"model", rate.model},
                {"layer", rate.layer},
                {"product", rate.product},
                {"rows", rate.rows},
                {"columns", rate.columns},
                {"inner", rate.inner},
                {"gflops", rate.gflops},
                {"fraction_of_peak", rate.fraction_of_peak}});
    rows.push_back(row);
  }
  return bench_object("gemm", r.roof, {{"rows", o.rows}, {"vocabulary", o.vocabulary}}, rows);
}

int run_gemm(const Options& o) {
  const BenchGemmResult r = bench_gemm(o.bench);
  if (o.json) {
    write_output(to_json(o.bench, r).dump(2) + "\n");
    return 0;
  }
  write_output(fmt::format("{}; a weight of columns x inner\n", machine_line(r.roof)));
  write_output(fmt::format("{:<18} {:<17} {:<8} {:>5} {:>7} {:>6} {:>30} {:>8} {:>8}\n", "model", "layer", "product", "rows", "columns",
                           "inner", "ms (quartiles)", "GFLOP/s", "of peak"));
  for (const GemmRate& rate : r.rates) {
    write_output(fmt::format("{:<18} {:<17} {:<8} {:>5} {:>7} {:>6} {:>30} {:>8.1f} {:>6.1f} %\n", rate.model, rate.layer, rate.product,
                             rate.rows, rate.columns, rate.inner, quartile_text(rate.seconds, 1e3), rate.gflops,
                             100 * rate.fraction_of_peak));
  }
  return 0;
}

}  // namespace

void add_gemm_benchmark(CLI::App& bench, Command& command) {
  auto o = std::make_shared<Options>();
  BenchGemmOptions& b = o->bench;
  CLI::App* sub = bench.add_subcommand("gemm", "The matrix products of training, shape by shape");
  sub->add_option("--presets", b.presets, "Transformers whose layers are measured; one or more")
      ->delimiter(',')
      ->check(one_of({"transformer-tiny", "transformer-small", "transformer-base", "transformer-big", "lm-tiny", "lm-small"}))
      ->type_name("NAME");
  sub->add_option("--rows", b.rows, "Rows of a micro-batch")->check(whole(1, 65536));
  sub->add_option("--step-rows", b.step_rows, "Rows of a recurrent step; one or more")->delimiter(',')->check(whole(1, 65536));
  sub->add_option("--vocabulary", b.vocabulary, "Symbols of the output layer")->check(whole(8, 1000000));
  sub->add_option("--threads", b.threads, "Threads, each with matrices of its own; 0: one a core")->check(whole(0, 4096));
  sub->add_option("--seconds", b.seconds, "Time for each measurement")->check(real(0.001, 60));
  sub->add_flag("--json", o->json, "Print one JSON object");
  sub->callback([o, &command] { command = [o] { return run_gemm(*o); }; });
}

}  // namespace jumok
