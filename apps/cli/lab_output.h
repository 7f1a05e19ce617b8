// What every experiment of `jumok lab` has in common on the command line: where its results go.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/file.h"
#include "commands.h"
#include "lab/experiment.h"
#include "progress.h"
#include "usage.h"

namespace jumok {

struct LabOutput {
  std::filesystem::path page;  // a folder, or a file that ends in .html; empty: no page
  bool json = false;
  std::filesystem::path json_file;  // with json: where it goes; empty: standard output, instead of the tables
  bool quiet = false;
};

// The page's file: `page` itself where it ends in .html, else NAME.html in the folder `page`. Throws Error where it cannot be written.
std::filesystem::path lab_page_path(const std::filesystem::path& page, const std::string& name);

// The report as text (or JSON) to standard output, and as a page where one was asked for.
void write_lab_results(const LabOutput& output, const std::string& name, const LabReport& report, const nlohmann::ordered_json& json);

// --output, --json and --quiet.
void add_lab_output(CLI::App& sub, LabOutput& output);
void add_seed(CLI::App& sub, LabRun& run);
void add_threads(CLI::App& sub, LabRun& run);

// --full: the options' full_budget(), which gives way to every value that is given.
template <typename Options>
void add_full(CLI::App& sub, Options& options, const std::string& what) {
  const auto set = [&options, done = false](int64_t times) mutable {
    if (times > 0 && !std::exchange(done, true)) options.full_budget();
  };
  sub.add_flag("--full", set, "The whole budget, but for what is given: " + what)->trigger_on_parse();
}

// Adds one experiment; `bind(CLI::App&, Options&)` adds its options, `run` is its run_NAME. Its Options have a LabRun `run`. What its
// check_options refuses is wrong usage.
template <typename Options, typename Result, typename Bind>
void add_experiment(CLI::App& lab, Command& command, const char* name, const char* help, Result (*run)(const Options&), Bind bind) {
  auto options = std::make_shared<Options>();
  auto output = std::make_shared<LabOutput>();
  CLI::App* sub = lab.add_subcommand(name, help);
  bind(*sub, *options);
  add_lab_output(*sub, *output);
  sub->callback([=, &command] {
    if constexpr (requires { check_options(*options); }) as_usage([&] { check_options(*options); });
    command = [=] {
      if (!output->page.empty()) lab_page_path(output->page, name);  // said before the work
      if (!output->json_file.empty()) check_file_place(output->json_file);
      Result result;
      {
        ProgressOptions bar_options;
        bar_options.label = name;
        bar_options.total = 1;
        bar_options.quiet = output->quiet;
        Progress bar(bar_options);
        options->run.progress = [&bar](double fraction, std::string_view text) { bar.update(fraction, text); };
        result = run(*options);
      }
      write_lab_results(*output, name, report_of(result), to_json(result));
      return 0;
    };
  });
}

}  // namespace jumok
