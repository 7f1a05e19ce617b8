// jumok lab: experiments, one subcommand each.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <memory>

#include "commands.h"
#include "lab/lookup.h"
#include "output.h"
#include "text/lines.h"
#include "text/unicode.h"

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

}  // namespace

void add_lab(CLI::App& app, Command& command) {
  CLI::App* lab = app.add_subcommand("lab", "Experiments");
  add_lookup(*lab, command);
  lab->require_subcommand(1);
}

}  // namespace jumok
