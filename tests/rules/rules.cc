#include "rules.h"

#include <algorithm>
#include <regex>

#include "base/error.h"
#include "base/file.h"

namespace jumok::rules {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string place(const Source& source, size_t line) { return fmt::format("{}:{}", source.path, line + 1); }

bool begins_with_any(const std::string& text, const std::set<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](const std::string& beginning) { return text.starts_with(beginning); });
}

// System headers that belong to no library of their own: C, POSIX, Linux and the compiler's intrinsics.
bool is_system_header(const std::string& name) {
  static const std::set<std::string> kPosix = {"fcntl.h", "iconv.h", "poll.h", "unistd.h"};
  const bool standard = name.find_first_of("./") == std::string::npos;  // <vector>
  return standard || name.starts_with("sys/") || name.ends_with("intrin.h") || kPosix.count(name) > 0;
}

bool may_include(const Layer& layer, const std::string& name, bool quoted) {
  const std::string own = fs::path(layer.folder).filename().string();
  const size_t slash = name.find('/');
  const std::string first = name.substr(0, slash);
  if (first == "jumok" || begins_with_any(name, layer.libraries)) return true;
  if (!quoted) return is_system_header(name);
  return slash == std::string::npos || first == own ||
         layer.folders.count(first) + layer.folders.count(name) > 0;  // "x.h" lies beside the file that includes it
}

void check_folders_known(const fs::path& tree, const std::vector<Layer>& layers, Breaches& breaches) {
  if (!fs::is_directory(tree / "src")) return;
  for (const auto& entry : fs::directory_iterator(tree / "src")) {
    const std::string folder = "src/" + entry.path().filename().string();
    const bool known = std::any_of(layers.begin(), layers.end(), [&](const Layer& layer) { return layer.folder == folder; });
    if (!known) breaches.push_back(folder + ": stands in no layer");
  }
}

}  // namespace

std::vector<Source> read_sources(const fs::path& tree, const std::vector<std::string>& folders) {
  std::vector<Source> sources;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(tree / folder)) continue;
    for (auto entry = fs::recursive_directory_iterator(tree / folder); entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->is_directory() && entry->path().filename() == "data") entry.disable_recursion_pending();
      const std::string extension = entry->path().extension().string();
      if (!entry->is_regular_file() || (extension != ".h" && extension != ".cc")) continue;
      const std::string text = read_file(entry->path());
      sources.push_back({entry->path().lexically_relative(tree).generic_string(), split_lines(text), blank_comments_and_literals(text)});
    }
  }
  std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

Breaches check_includes(const fs::path& tree, const std::vector<Layer>& layers) {
  static const std::regex kInclude(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  Breaches breaches;
  check_folders_known(tree, layers, breaches);
  for (const Layer& layer : layers) {
    for (const Source& source : read_sources(tree, {layer.folder})) {
      for (size_t i = 0; i < source.lines.size(); ++i) {
        std::smatch match;
        if (!std::regex_search(source.lines[i], match, kInclude)) continue;
        if (may_include(layer, match[2], match[1] == "\"")) continue;
        breaches.push_back(fmt::format("{}: {} may not include {}", place(source, i), layer.folder, match[2].str()));
      }
    }
  }
  return breaches;
}

std::map<std::string, std::string> read_exceptions(const fs::path& file) {
  std::map<std::string, std::string> exceptions;
  for (const std::string& line : split_lines(read_file(file))) {
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(": ");
    check(colon != std::string::npos && colon + 2 < line.size(), "{}: expected 'path [function]: reason', found '{}'", file.string(), line);
    exceptions[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return exceptions;
}

Breaches check_sizes(const std::vector<Source>& sources, const Limits& limits) {
  Breaches breaches;
  std::set<std::string> used;
  const auto limit = [&](const std::string& name, const std::string& where, int lines, int most) {
    if (lines <= most) return;
    if (limits.exceptions.count(name) > 0) {
      used.insert(name);
    } else {
      breaches.push_back(fmt::format("{}: {} lines, at most {} are allowed", where, lines, most));
    }
  };
  for (const Source& source : sources) {
    limit(source.path, source.path, static_cast<int>(source.lines.size()), limits.file_lines);
    for (const Function& function : find_functions(source.code)) {
      const std::string where = fmt::format("{}:{}: {}", source.path, function.first, function.name);
      limit(source.path + " " + function.name, where, function.last - function.first + 1, limits.function_lines);
    }
  }
  for (const auto& [name, reason] : limits.exceptions) {
    if (used.count(name) == 0) breaches.push_back(fmt::format("{}: the exception ({}) is not needed any more", name, reason));
  }
  return breaches;
}

Breaches check_silence(const std::vector<Source>& sources) {
  // A call: the name, not the end of a longer one nor a member's, then its bracket. snprintf into a buffer prints nothing.
  static const std::regex kPrints(
      R"(\bstd\s*::\s*(cout|cerr|clog)\b|\b(stdout|stderr)\b|\bfmt\s*::\s*print\w*\s*\()"
      R"(|(^|[^\w.>:])(std\s*::\s*|::\s*)?(v?f?printf|puts|putchar|perror|exit|_exit|quick_exit|abort|terminate)\s*\()");
  Breaches breaches;
  for (const Source& source : sources) {
    const auto lines = split_lines(source.code);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (std::regex_search(lines[i], kPrints)) breaches.push_back(place(source, i) + ": the library never prints, exits or aborts");
    }
  }
  return breaches;
}

Breaches check_hygiene(const std::vector<Source>& sources) {
  static const std::regex kUnfinished(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b");
  Breaches breaches;
  for (const Source& source : sources) {
    const bool header = source.path.ends_with(".h") && !source.path.ends_with("-inl.h");
    if (header && source.code.find("#pragma once") == std::string::npos) breaches.push_back(source.path + ": has no #pragma once");
    for (size_t i = 0; i < source.lines.size(); ++i) {
      if (std::regex_search(source.lines[i], kUnfinished)) breaches.push_back(place(source, i) + ": unfinished work is not committed");
    }
  }
  return breaches;
}

}  // namespace jumok::rules
