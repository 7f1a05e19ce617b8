// Words for a command line that cannot be understood.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace jumok {

// The candidate that `word` is most likely a slip of, or "" when none is near: at most a third of its letters inserted, left out, replaced
// or swapped with a neighbour (Damerau-Levenshtein, optimal string alignment), or the only one that begins with it.
std::string near_miss(std::string_view word, const std::vector<std::string>& candidates);

// One line for a failed parse: an unknown subcommand or option is named first, with the near miss, since what is reported missing is often
// just what was mistyped.
std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace jumok
