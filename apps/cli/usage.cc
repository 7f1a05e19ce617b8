#include "usage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/near_miss.h"

namespace jumok {
namespace {

// The app whose words the user was typing: the innermost chosen subcommand, unless an outer one already met a word it does not know.
const CLI::App& innermost(const CLI::App& app) {
  if (!app.remaining().empty()) return app;
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(sub->get_name());
  return names;
}

std::string describe_unknown(const CLI::App& app, const std::string& word) {
  const bool option = word.size() > 1 && word.front() == '-';
  const auto commands = subcommand_names(app);
  const std::string_view name = option ? std::string_view(word).substr(0, word.find('=')) : std::string_view(word);
  const std::string near = near_miss(name, option ? option_names(app) : commands);
  const char* kind = option ? "unknown option" : commands.empty() ? "unexpected argument" : "unknown subcommand";
  return fmt::format("{} '{}'{}", kind, name, near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
}

// "FILE FILE:range" is "FILE FILE".
std::string kind_of(const CLI::Option& option) {
  const std::string kind = option.get_type_name();
  return kind.substr(0, kind.find(':'));
}

// "--model: At Most 1 required but received 2", "--to: 1 required CODE missing"
std::string describe_count(const CLI::App& app, const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) return text;
  if (text.ends_with("missing")) return fmt::format("{}: expected {} behind it, found too little", name, kind_of(*option));
  return text.find("At Most 1 ") != std::string::npos ? fmt::format("{}: expected once, found {} times", name, option->count()) : text;
}

bool names_option(const CLI::App& app, const std::string& text) {
  const std::string name = text.substr(0, text.find('='));
  return name.starts_with("--") && app.get_option_no_throw(name) != nullptr;
}

bool given_with_equals_sign(const CLI::Option& option, const std::string& value, const std::vector<std::string>& words) {
  return std::ranges::any_of(option.get_lnames(),
                             [&](const std::string& name) { return std::ranges::count(words, fmt::format("--{}={}", name, value)) > 0; });
}

// CLI11's words, plainer where they speak of its own matters.
std::string describe_other(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return describe_count(app, text);
  constexpr std::string_view kConvert = "Could not convert: ", kExcludes = " excludes ";
  if (text.starts_with(kConvert) && text.find(" = ") != std::string::npos) {
    const size_t equals = text.find(" = ");
    return fmt::format("{}: expected no value, found '{}'", text.substr(kConvert.size(), equals - kConvert.size()),
                       text.substr(equals + 3));
  }
  if (const size_t at = text.find(kExcludes); dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr && at != std::string::npos) {
    return fmt::format("{} and {} cannot be combined", text.substr(0, at), text.substr(at + kExcludes.size()));
  }
  return text;
}

}  // namespace

std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& where = innermost(app);
  const auto unknown = where.remaining();
  const bool bad_value = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;  // it may have taken the place of the unknown word
  std::string what;
  if (!unknown.empty() && !bad_value) {
    what = describe_unknown(where, unknown.front());
  } else if (!subcommand_names(where).empty() && where.get_subcommands().empty() &&
             dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    what = "expected a subcommand";
  } else {
    what = describe_other(where, error);
  }
  return fmt::format("{} (see '{} --help')", what, full_name(where));
}

void refuse_slips(CLI::App& app, const std::vector<std::string>& words) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_items_expected_max() > 0; })) {
    const auto slip = [&app, &words, option](const std::string& value) {
      const std::string kind = kind_of(*option);
      const bool is_path = kind.starts_with("FILE") || kind.starts_with("DIR") || kind.ends_with("PATH");
      if (names_option(app, value) && !given_with_equals_sign(*option, value, words))
        return fmt::format("expected {} behind it, found the option '{}'", kind, value);
      return is_path && value.empty() ? fmt::format("expected {} behind it, found an empty name", kind) : std::string();
    };
    option->check(slip);
  }
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) refuse_slips(*sub, words);
}

}  // namespace jumok
