// jumok info: what a model is and what its folder holds.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "commands.h"
#include "json_text.h"
#include "jumok/generator.h"
#include "jumok/translator.h"
#include "output.h"

namespace jumok {
namespace {
namespace fs = std::filesystem;

struct Options {
  std::string model;
  bool json = false;
};

struct FileSize {
  std::string name;  // relative to the model folder
  uintmax_t bytes = 0;
};

std::vector<FileSize> files_of(const fs::path& folder) {
  std::vector<FileSize> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back({fs::relative(entry.path(), folder).string(), entry.file_size()});
  }
  std::sort(files.begin(), files.end(), [](const FileSize& a, const FileSize& b) { return a.name < b.name; });
  return files;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string as_json(const Facts& facts, const std::vector<FileSize>& files) {
  std::string facts_text, files_text;
  for (const auto& [name, value] : facts) facts_text += (facts_text.empty() ? "" : ", ") + json_string(name) + ": " + json_value(value);
  for (const FileSize& f : files) files_text += fmt::format("{}{}: {}", files_text.empty() ? "" : ", ", json_string(f.name), f.bytes);
  return fmt::format("{{\"facts\": {{{}}}, \"files\": {{{}}}}}\n", facts_text, files_text);
}

std::string as_columns(const Facts& facts, const std::vector<FileSize>& files) {
  size_t width = 0;
  for (const auto& [name, value] : facts) width = std::max(width, name.size());
  for (const FileSize& f : files) width = std::max(width, f.name.size());
  std::string out;
  for (const auto& [name, value] : facts) out += fmt::format("{:<{}}  {}\n", name, width, value);
  out += "\nfiles\n";
  for (const FileSize& f : files) out += fmt::format("{:<{}}  {:>12} bytes\n", f.name, width, f.bytes);
  return out;
}

int run(const Options& o) {
  const Facts facts = is_language_model(o.model) ? Generator(o.model, {.threads = 1, .log = {}}).facts()
                                                 : Translator(o.model, {.threads = 1, .log = {}}).facts();
  const auto files = files_of(o.model);
  write_output(o.json ? as_json(facts, files) : as_columns(facts, files));
  return 0;
}

}  // namespace

void add_info(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("info", "What a model is: shape, vocabulary, parameters, files");
  sub->add_option("--model", o->model, "Model directory")->required()->type_name("DIR");
  sub->add_flag("--json", o->json, "Print one JSON object instead of columns");
  sub->callback([o, &command] { command = [o] { return run(*o); }; });
}

}  // namespace jumok
