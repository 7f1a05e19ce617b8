// jumok bench attention: the attention kernels under each rule, and the additive score.
#include "bench_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench_output.h"
#include "lab/bench_additive.h"
#include "lab/bench_attention.h"
#include "output.h"
#include "usage.h"
#include "values.h"

namespace jumok {
namespace {

struct Options {
  std::string score = "scaled-dot";
  BenchAttentionOptions dot;
  BenchAdditiveOptions additive;
  std::vector<int> lengths, widths;  // empty: those of the score
  int threads = 1;
  double seconds = 0.1;
  bool json = false;
};

const char* direction(bool backward) { return backward ? "backward" : "forward"; }

BenchJson to_json(const BenchAttentionOptions& o, const BenchAttentionResult& r) {
  BenchJson rows = BenchJson::array();
  for (const AttentionRate& rate : r.rates) {
    BenchJson row = bench_row(fmt::format("{} {} {}", rate.rule, direction(rate.backward), rate.length), rate.seconds);
    row.update({{"rule", rate.rule},
                {"direction", direction(rate.backward)},
                {"length", rate.length},
                {"sentences", rate.sentences},
                {"flop", rate.flop},
                {"fraction_of_peak", rate.fraction_of_peak}});
    row["against_full"] = rate.against_full > 0 ? BenchJson(rate.against_full) : BenchJson();
    rows.push_back(row);
  }
  if (r.step_sentences > 0) {
    BenchJson row = bench_row(fmt::format("step {}", o.cache), r.step_seconds);
    row.update({{"keys", o.cache},
                {"sentences", r.step_sentences},
                {"bytes_per_second", to_json(r.step_bytes_per_second)},
                {"fraction_of_read", r.step_fraction_of_read}});
    rows.push_back(row);
  }
  return bench_object("attention", r.roof, {{"score", "scaled-dot"}, {"heads", o.heads}, {"width", o.width}, {"window", o.window}}, rows);
}

void print_dot(const BenchAttentionOptions& o, const BenchAttentionResult& r) {
  write_output(fmt::format("{}; {} heads of {}, window {}\n", machine_line(r.roof), o.heads, o.width, o.window));
  write_output(fmt::format("{:>7} {:>9} {:<9} {:<8} {:>30} {:>8} {:>13}\n", "length", "sentences", "", "rule", "ms (quartiles)", "of peak",
                           "of full time"));
  for (const AttentionRate& rate : r.rates) {
    write_output(fmt::format("{:>7} {:>9} {:<9} {:<8} {:>30} {:>6.1f} % {:>13}\n", rate.length, rate.sentences, direction(rate.backward),
                             rate.rule, quartile_text(rate.seconds, 1e3), 100 * rate.fraction_of_peak,
                             rate.against_full > 0 ? fmt::format("{:.2f}", rate.against_full) : "-"));
  }
  if (r.step_sentences == 0) return;
  write_output(fmt::format("step, {} sentences, {} keys each: {} GB/s of cache, {:.2f} of the memory's rate\n", r.step_sentences, o.cache,
                           quartile_text(r.step_bytes_per_second, 1e-9), r.step_fraction_of_read));
}

int run_dot(const Options& o) {
  BenchAttentionOptions b = o.dot;
  if (!o.lengths.empty()) b.lengths = o.lengths;
  b.threads = o.threads, b.seconds = o.seconds;
  const BenchAttentionResult r = bench_attention(b);
  if (o.json) {
    write_output(to_json(b, r).dump(2) + "\n");
  } else {
    print_dot(b, r);
  }
  return 0;
}

BenchJson to_json(const BenchAdditiveResult& r) {
  BenchJson rows = BenchJson::array();
  for (const AdditiveRate& rate : r.rates) {
    const char* passes = rate.backward ? "both" : "forward";
    BenchJson row = bench_row(fmt::format("additive {} {} {}", passes, rate.width, rate.length), rate.seconds);
    row.update({{"passes", passes},
                {"width", rate.width},
                {"length", rate.length},
                {"sentences", rate.sentences},
                {"ns_per_element", rate.ns_per_element},
                {"against_tanh", rate.against_tanh}});
    rows.push_back(row);
  }
  return bench_object("attention", r.roof, {{"score", "additive"}, {"ns_per_tanh", r.ns_per_tanh}}, rows);
}

void print_additive(const BenchAdditiveResult& r) {
  write_output(fmt::format("{}; {:.3f} ns a tanh\n", machine_line(r.roof), r.ns_per_tanh));
  write_output(fmt::format("{:>6} {:>7} {:>9} {:<9} {:>30} {:>11} {:>11}\n", "width", "length", "sentences", "", "ms (quartiles)",
                           "ns/element", "of a tanh"));
  for (const AdditiveRate& rate : r.rates) {
    write_output(fmt::format("{:>6} {:>7} {:>9} {:<9} {:>30} {:>11.3f} {:>11.2f}\n", rate.width, rate.length, rate.sentences,
                             rate.backward ? "both" : "forward", quartile_text(rate.seconds, 1e3), rate.ns_per_element, rate.against_tanh));
  }
}

int run_additive(const Options& o) {
  BenchAdditiveOptions b = o.additive;
  if (!o.lengths.empty()) b.lengths = o.lengths;
  if (!o.widths.empty()) b.widths = o.widths;
  b.threads = o.threads, b.seconds = o.seconds;
  const BenchAdditiveResult r = bench_additive(b);
  if (o.json) {
    write_output(to_json(r).dump(2) + "\n");
  } else {
    print_additive(r);
  }
  return 0;
}

// Rows are compared by their names, of which there must be one each.
template <typename T>
void check_once(const char* option, std::vector<T> values) {
  std::ranges::sort(values);
  const auto twice = std::ranges::adjacent_find(values);
  if (twice != values.end()) throw CLI::ValidationError(option, fmt::format("expected each value once, found '{}' twice", *twice));
}

// An option that the chosen score does not read is wrong usage rather than silence.
void check_usage(const CLI::App& sub, const std::string& score) {
  const bool additive = score == "additive";
  for (const char* name : {"--heads", "--width", "--window", "--cache", "--rules"}) {
    if (additive && sub.count(name) > 0) throw CLI::ValidationError(name, "is of --score scaled-dot alone");
  }
  if (!additive && sub.count("--widths") > 0) throw CLI::ValidationError("--widths", "is of --score additive alone");
}

}  // namespace

void add_attention_benchmark(CLI::App& bench, Command& command) {
  auto o = std::make_shared<Options>();
  BenchAttentionOptions& b = o->dot;
  CLI::App* sub = bench.add_subcommand("attention", "The attention kernels, forward and backward, and a step with a cache");
  sub->add_option("--score", o->score, "Scaled dot product under each rule, or v·tanh(q + k)")
      ->check(one_of({"scaled-dot", "additive"}))
      ->type_name("NAME");
  sub->add_option("--threads", o->threads, "Threads; 0: one a core")->check(whole(0, 4096))->type_name("N");
  sub->add_option("--lengths", o->lengths,
                  "Queries, and as many keys, of a sentence; one or more; unset: 16,32,64,128,256,512,1024; additive: 50,100,200,400")
      ->delimiter(',')
      ->check(whole(1, 65536));
  sub->add_option("--rules", b.rules, "Who may attend to what, measured in turn; one or more")
      ->delimiter(',')
      ->check(one_of(attention_rules()))
      ->type_name("NAME");
  sub->add_option("--heads", b.heads, "Heads")->check(whole(1, 1024));
  sub->add_option("--width", b.width, "Width of a head")->check(whole(1, 4096));
  sub->add_option("--window", b.window, "Keys that a query sees in its window")->check(whole(1, 65536));
  sub->add_option("--cache", b.cache, "Keys of each sentence's cache in a step; 0: no step")->check(whole(0, 1000000));
  sub->add_option("--widths", o->widths, "Widths d of the additive score; one or more; unset: 256,512,1024")
      ->delimiter(',')
      ->check(whole(1, 65536));
  sub->add_option("--seconds", o->seconds, "Time for each measurement")->check(real(0.001, 60));
  sub->add_flag("--json", o->json, "Print one JSON object");
  sub->callback([o, sub, &command] {
    check_usage(*sub, o->score);
    check_once("--rules", o->dot.rules);
    check_once("--lengths", o->lengths);
    check_once("--widths", o->widths);
    command = [o] { return o->score == "additive" ? run_additive(*o) : run_dot(*o); };
  });
}

}  // namespace jumok
