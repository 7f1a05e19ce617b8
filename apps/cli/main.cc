// The program `jumok`: reads the command line, runs one subcommand, turns every failure into one line and an exit status.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "commands.h"
#include "help.h"
#include "jumok/error.h"
#include "output.h"
#include "usage.h"

namespace jumok {
namespace {

// Exit statuses: DESIGN of the command line, and part of its interface.
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kOutputClosed = 128 + 13;  // what a shell reports for a program that SIGPIPE ended

// The order of --help.
constexpr void (*kSubcommands[])(CLI::App&, Command&) = {
    add_corpus, add_train, add_translate, add_align, add_score, add_generate, add_evaluate, add_lab, add_info, add_bench,
};

constexpr char kExamples[] =
    "Examples:\n"
    "  jumok train --source train.en --target train.ko --model en-ko --preset transformer-small\n"
    "  jumok translate --model en-ko < letter.en > letter.ko\n"
    "\n"
    "'jumok SUBCOMMAND --help' lists a subcommand's options. Exit status: 0 success, 1 failed work, 2 wrong usage,\n"
    "128 + n where signal n ended the work.";

int report(std::string message, int status) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fputs(fmt::format("jumok: {}\n", message).c_str(), stderr);  // where standard error is gone too, the status still tells
  return status;
}

void describe(CLI::App& app, Command& command, const std::vector<std::string>& words) {
  app.name("jumok");
  app.set_version_flag("--version", "jumok " JUMOK_VERSION)->description("Print the version and exit");
  app.set_help_flag("--help,-h", "Print this help and exit");
  app.formatter(std::make_shared<HelpFormatter>());
  app.option_defaults()->always_capture_default();
  for (const auto add : kSubcommands) add(app, command);
  refuse_slips(app, words);
  app.require_subcommand(1);
  app.footer(kExamples);  // after the subcommands, which would inherit it
}

int run(int argc, char** argv) {
  CLI::App app("jumok: attention models from the Seq2Seq RNN to the Transformer: train a translator, translate, look inside");
  Command command;
  const std::vector<std::string> words(argv, argv + argc);
  describe(app, command, words);
  try {
    app.parse(argc, argv);
    return command();
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return report(describe_usage_error(app, error), kWrongUsage);
  }
}

int guarded_main(int argc, char** argv) {
  try {
    prepare_standard_streams();
    const int status = run(argc, argv);
    close_output();
    return status;
  } catch (const OutputClosed&) {
    return kOutputClosed;
  } catch (const std::bad_alloc&) {
    return report("out of memory", kFailed);
  } catch (const std::exception& error) {  // Error, and what the libraries underneath throw
    return report(error.what(), kFailed);
  } catch (...) {
    return report("failed for an unknown reason", kFailed);
  }
}

}  // namespace
}  // namespace jumok

int main(int argc, char** argv) { return jumok::guarded_main(argc, argv); }
