// Words for a command line that cannot be understood.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "jumok/error.h"

namespace jumok {

// One line for a failed parse: an unknown subcommand or option is named first, with the near miss, since what is reported missing is often
// just what was mistyped.
std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error);

// Runs what only checks options: an Error of the library is wrong usage there.
template <typename Check>
void as_usage(Check check) {
  try {
    check();
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
}

}  // namespace jumok
