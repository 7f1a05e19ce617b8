// The subcommands: one file each, registered in main.cc's table in the order of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace jumok {

// What the parsed command line asks for; the exit status is its result. It runs after parsing has ended, so wrong usage never does half the
// work.
using Command = std::function<int()>;

// Each adds one subcommand with its options to `app` and lets its callback set `command`:
//   auto options = std::make_shared<Options>();
//   CLI::App* sub = app.add_subcommand("evaluate", "One line for the overview");
//   sub->add_option("--reference", options->reference, "…")->required();
//   sub->callback([options, &command] { command = [options] { return evaluate(*options); }; });
// The command throws Error for failed work (exit status 1) and CLI::ValidationError for wrong usage that only shows while running (2).
// Results go to standard output through output.h, everything else to standard error.
void add_corpus(CLI::App& app, Command& command);
void add_train(CLI::App& app, Command& command);
void add_translate(CLI::App& app, Command& command);
void add_align(CLI::App& app, Command& command);
void add_score(CLI::App& app, Command& command);
void add_evaluate(CLI::App& app, Command& command);
void add_generate(CLI::App& app, Command& command);
void add_lab(CLI::App& app, Command& command);
void add_bench(CLI::App& app, Command& command);
void add_info(CLI::App& app, Command& command);

}  // namespace jumok
