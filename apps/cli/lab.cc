// jumok lab: experiments, one subcommand each.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "commands.h"
#include "lab/complexity.h"
#include "lab/explain.h"
#include "lab/kv_cache_cost.h"
#include "lab/lookup.h"
#include "lab/permutation.h"
#include "lab/worked_example.h"
#include "lab_output.h"
#include "lab_trained.h"
#include "output.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "values.h"

namespace jumok {
namespace {

void warn(LogLevel, const std::string& message) { std::fputs(fmt::format("jumok: {}\n", message).c_str(), stderr); }

struct LookupOptions {
  std::filesystem::path source, target;
};

int lookup(const LookupOptions& options) {
  const ParallelLines training = read_parallel(options.source, options.target, warn);
  const Lookup index(training.source);
  LineReader reader(std::cin, "standard input", warn);
  for (std::string line; reader.next(line);) {
    const Lookup::Match match = index.nearest(line);
    write_output((match.line < 0 ? std::string() : training.target[match.line]) + "\n");
  }
  return 0;
}

void add_lookup(CLI::App& lab, Command& command) {
  auto options = std::make_shared<LookupOptions>();
  CLI::App* sub = lab.add_subcommand(
      "lookup", "Translate without a model: each line of standard input becomes the translation of the most similar training source");
  sub->add_option("--source", options->source, "Training sources, one a line (.gz too)")->type_name("FILE")->required();
  sub->add_option("--target", options->target, "Their translations, line by line")->type_name("FILE")->required();
  sub->footer(
      "Similarity is the cosine of bags of words (lower case, split at white space and punctuation), weighted by inverse document\n"
      "frequency; of equals the first. A line without any known word stays empty.");
  sub->callback([options, &command] { command = [options] { return lookup(*options); }; });
}

// The worked example's own input is a file; everything else takes options.
struct WorkedExampleOptions {
  std::filesystem::path input;
  LabRun run;
};
WorkedExampleResult run_example(const WorkedExampleOptions& o) {
  return run_worked_example(o.input.empty() ? default_worked_example() : parse_worked_example(read_file(o.input), o.input.string()));
}

void add_small_experiments(CLI::App& lab, Command& command) {
  add_experiment<WorkedExampleOptions, WorkedExampleResult>(
      lab, command, "worked-example", "One attention by hand: every number from embedding to context", run_example,
      [](CLI::App& sub, WorkedExampleOptions& o) {
        sub.add_option("--input", o.input,
                       "JSON file with embeddings, w_q, w_k, w_v, queries, keys, scale, mask (default: \"it\", cat or car)")
            ->type_name("FILE");
      });
  add_experiment<PermutationOptions, PermutationResult>(
      lab, command, "permutation", "What a model knows of word order, without and with positions", run_permutation,
      [](CLI::App& sub, PermutationOptions& o) {
        sub.add_option("--preset", o.preset, "Transformer to look at")->type_name("NAME");
        sub.add_option("--length", o.length, "Symbols of the sentence")->check(whole(2, 1000));
        sub.add_option("--permutations", o.permutations, "Random orders tried")->check(whole(1, 10000));
        add_seed(sub, o.run);
      });
}

void add_cost_experiments(CLI::App& lab, Command& command) {
  const auto sizes = [](CLI::App& sub, const char* name, std::vector<int>& values, const char* help) {
    sub.add_option(name, values, help)->delimiter(',')->check(whole(1, 65536));
  };
  add_experiment<ComplexityOptions, ComplexityResult>(
      lab, command, "complexity", "What a self-attention, recurrent and convolutional layer costs, measured", run_complexity,
      [&](CLI::App& sub, ComplexityOptions& o) {
        sizes(sub, "--lengths", o.lengths, "Lengths n, rising, comma-separated");
        sizes(sub, "--widths", o.widths, "Widths d, rising, comma-separated");
        sub.add_option("--width", o.width, "Width at which lengths vary")->check(whole(1, 65536));
        sub.add_option("--length", o.length, "Length at which widths vary")->check(whole(1, 65536));
        sub.add_option("--kernel", o.kernel, "Neighbours k of the convolution")->check(whole(1, 1000));
        sub.add_option("--seconds", o.seconds, "Seconds of measuring each point")->check(real(0, 60));
        add_full(sub, o, "10 times the seconds");
        add_seed(sub, o.run);
      });
  add_experiment<KvCacheOptions, KvCacheResult>(
      lab, command, "kv-cache", "Bytes and time per generated symbol, with kept keys and values and without", run_kv_cache,
      [](CLI::App& sub, KvCacheOptions& o) {
        sub.add_option("--preset", o.preset, "Transformer or language model to measure")->type_name("NAME");
        sub.add_option("--vocabulary", o.vocabulary, "Symbols of the output layer")->check(whole(8, 1000000));
        sub.add_option("--length", o.length, "Symbols generated")->check(whole(32, 65536));
        sub.add_option("--source-length", o.source_length, "Symbols of the source; a language model has none")->check(whole(1, 65536));
        sub.add_option("--passes", o.passes, "Generations measured, after one that is not counted")->check(whole(1, 1000));
        add_full(sub, o, "1024 symbols");
        add_seed(sub, o.run);
      });
}

void add_explain(CLI::App& lab, Command& command) {
  add_experiment<ExplainOptions, ExplainResult>(
      lab, command, "explain", "One sentence step by step through every attention of a model, or two side by side", run_explain,
      [](CLI::App& sub, ExplainOptions& o) {
        sub.add_option("--model", o.model, "Model directory")->type_name("DIR")->required();
        sub.add_option("--source", o.sources, "Source sentence; given twice, two stand side by side")->type_name("TEXT")->required();
        sub.add_option("--target", o.targets,
                       "Its translation; given once for both sources, or once for each in their order (default: the model's own)")
            ->type_name("TEXT");
        sub.add_option("--attention", o.attention, "The one attention to explain, such as decoder.layers.0.cross_attention (default: all)")
            ->type_name("NAME");
        sub.add_option("--head", o.head, "The one head to explain; -1: all")->check(whole(-1, 1000));
        sub.add_option("--symbol", o.symbol,
                       "Follow the first symbol that is this text, else the first that holds it (default: the last before the end symbol; "
                       "of a decoder's "
                       "self-attention the one before it, which is fed)")
            ->type_name("TEXT");
        add_threads(sub, o.run);
      });
}

int list(const CLI::App& lab) {
  for (const CLI::App* sub : lab.get_subcommands([](const CLI::App*) { return true; })) {
    write_output(fmt::format("{:<16}{}\n", sub->get_name(), sub->get_description()));
  }
  write_output("\n'jumok lab NAME --help' lists an experiment's options; '--output FOLDER' writes a page with its pictures.\n");
  return 0;
}

}  // namespace

void add_lab(CLI::App& app, Command& command) {
  CLI::App* lab = app.add_subcommand("lab", "Experiments: the numbers of the literature, reproduced");
  add_small_experiments(*lab, command);
  add_cost_experiments(*lab, command);
  add_trained_experiments(*lab, command);
  add_explain(*lab, command);
  add_lookup(*lab, command);
  lab->require_subcommand(0, 1);
  lab->callback([lab, &command] {
    if (lab->get_subcommands().empty()) command = [lab] { return list(*lab); };
  });
}

}  // namespace jumok
