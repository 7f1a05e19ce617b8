// Words for a command line that cannot be understood.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "jumok/error.h"

namespace jumok {

// One line for a failed parse: an unknown subcommand or option is named first, with the near miss, since what is reported missing is often
// just what was mistyped.
std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error);

// Refuses, for every option of `app` and its subcommands, two slips that would be taken for a value: the next option where the value was
// forgotten ("--model --source a"), and no name at all for a file or folder (a variable of a script that was never set). What is given with
// an equals sign ("--stop=--model") is a value. `words` are those of the command line, read while it is parsed.
void refuse_slips(CLI::App& app, const std::vector<std::string>& words);

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
