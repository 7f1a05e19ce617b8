#include "help.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "text/unicode.h"

namespace jumok {
namespace {

constexpr size_t kNameCells = 30, kTextCells = 84;

// CLI11 gives "N:1 to 1000": the kind of the value, then what its validators say.
std::string kind_of(const CLI::Option& option) {
  const std::string name = option.get_type_name(), kind = name.substr(0, name.find(':'));
  if (kind == "INT" || kind == "UINT") return "N";
  return kind == "FLOAT" ? "NUMBER" : kind;
}

std::string limits_of(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  const size_t colon = name.find(':');
  return colon == std::string::npos ? "" : name.substr(colon + 1);
}

std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());  // the set is in the order of addresses
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

HelpFormatter::HelpFormatter() { column_width(kNameCells); }

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_type_size() == 0 ? "" : " " + kind_of(*option);
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::vector<std::string> notes;
  const std::string limits = limits_of(*option), standard = option->get_default_str();
  if (!limits.empty()) notes.push_back(limits);
  if (option->get_required()) notes.push_back("required");
  if (option->get_type_size() != 0 && !standard.empty() && standard != "[]") notes.push_back("default " + standard);
  if (!option->get_needs().empty()) notes.push_back("with " + names_of(option->get_needs()));
  if (!option->get_excludes().empty()) notes.push_back("not with " + names_of(option->get_excludes()));
  const std::string description = option->get_description();
  return wrapped(notes.empty() ? description : fmt::format("{} ({})", description, fmt::join(notes, "; ")), kTextCells);
}

std::string HelpFormatter::make_subcommand(const CLI::App* sub) const {
  std::stringstream out;
  CLI::detail::format_help(out, sub->get_name(), wrapped(sub->get_description(), kTextCells), kNameCells);
  return out.str();
}

std::string wrapped(std::string_view text, size_t cells) {
  std::string out;
  size_t used = 0;
  for (const std::string_view word : split_words(text)) {
    const size_t width = code_points(word).size();
    const bool breaks = used > 0 && used + 1 + width > cells;
    if (used > 0) out += breaks ? '\n' : ' ';
    used = breaks || used == 0 ? width : used + 1 + width;
    out += word;
  }
  return out;
}

}  // namespace jumok
