// The project's rules about its own source, as functions of a source tree: each returns one line per breach, "file:line: what is wrong".
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace jumok::rules {

using Breaches = std::vector<std::string>;

// A source file without what a rule must not look at.
struct Source {
  std::string path;                // relative to the tree, with '/'
  std::vector<std::string> lines;  // as they stand
  std::string code;                // the same text with comments, string and character literals blanked out, newlines kept
};

// All *.h and *.cc below the given folders of `tree`, in alphabetical order; folders named "data" are left out. Folders that do not exist
// are skipped.
std::vector<Source> read_sources(const std::filesystem::path& tree, const std::vector<std::string>& folders);

// Comments, strings (raw ones too) and character literals become spaces.
std::string blank_comments_and_literals(const std::string& text);

// One folder of src/ (or apps/cli, include/jumok): what its files may include besides itself, the public headers, the C++ library and the
// system.
struct Layer {
  std::string folder;               // "src/text"
  std::set<std::string> folders;    // first parts of quoted includes, or single headers: "base", "kernels/rows.h"
  std::set<std::string> libraries;  // beginnings of outside headers: "fmt/", "zlib.h"
};

// Every #include in a layer's folder names an allowed folder or library; every folder of src/ has a layer.
Breaches check_includes(const std::filesystem::path& tree, const std::vector<Layer>& layers);

struct Limits {
  int file_lines = 400, function_lines = 60;
  // "path" (whole file) or "path function" -> why it is allowed to be longer.
  std::map<std::string, std::string> exceptions;
};

// Reads "path [function]: reason" lines; '#' begins a comment. Throws Error for a line without a reason.
std::map<std::string, std::string> read_exceptions(const std::filesystem::path& file);

// Files and functions over the limits, and exceptions that are not needed any more.
Breaches check_sizes(const std::vector<Source>& sources, const Limits& limits);

// The library never prints, exits or aborts.
Breaches check_silence(const std::vector<Source>& sources);

// Every header has #pragma once; no mark of unfinished work is left anywhere.
Breaches check_hygiene(const std::vector<Source>& sources);

// A function's extent, found by its braces. `name` is the last identifier before the parameter list ("Progress::update").
struct Function {
  std::string name;
  int first = 0, last = 0;  // lines from 1, signature to closing brace
};
std::vector<Function> find_functions(const std::string& code);

}  // namespace jumok::rules
