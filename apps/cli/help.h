// The pages of --help: an option with the kind of its value, then what it does, what it may be and what it is when left out.
//   --beam N                    Hypotheses kept at every step; 1 is greedy search (1 to 1000; default 4)
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace jumok {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* sub) const override;
};

// Lines of at most `cells` code points, broken at spaces; a longer word has a line of its own.
std::string wrapped(std::string_view text, size_t cells);

}  // namespace jumok
