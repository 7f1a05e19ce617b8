#include "corpus/help_pages.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "corpus/html_text.h"
#include "corpus/language.h"
#include "corpus/walk.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

std::string lower_base(const std::string& code) { return code.substr(0, code.find_first_of("_-@")); }

std::vector<std::string> folder_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The folder of `language` among `names`: exact, then the only one with a territory, then en-US for English.
std::string choose_folder(const fs::path& root, const std::vector<std::string>& names, const std::string& language) {
  std::vector<std::string> candidates;
  for (const std::string& name : names) {
    if (same_language(name, language)) return name;
    if (name.size() > language.size() && same_language(lower_base(name), language)) candidates.push_back(name);
  }
  if (candidates.size() == 1) return candidates.front();
  if (std::find(candidates.begin(), candidates.end(), "en-US") != candidates.end()) return "en-US";
  check(candidates.empty(), "{}: expected one folder of help pages for '{}', found {} and {}", root.string(), language,
        candidates.empty() ? "" : candidates[0], candidates.empty() ? "" : candidates[1]);
  fail("{}: expected a folder of help pages for '{}', found none", root.string(), language);
}

bool is_page(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".html") || name.ends_with(".html.gz");
}

// Calls sink for each paragraph that both pages have; returns how many there were.
size_t join_pages(const fs::path& source, const fs::path& target, const std::string& relative, const PairSink& sink) {
  std::unordered_map<std::string, std::string> texts;
  for (HtmlParagraph& paragraph : html_paragraphs(read_file(target))) texts.try_emplace(std::move(paragraph.id), std::move(paragraph.text));
  std::unordered_set<std::string> seen;
  const uint64_t page = hash_text(relative) | 1;
  for (HtmlParagraph& paragraph : html_paragraphs(read_file(source))) {
    const auto match = texts.find(paragraph.id);
    if (match == texts.end() || !seen.insert(paragraph.id).second) continue;
    sink({.source = std::move(paragraph.text), .target = match->second, .place = target.string() + "#" + paragraph.id, .page = page});
  }
  return seen.size();
}

}  // namespace

void read_help_pages(const fs::path& folder, const std::string& from, const std::string& to, const PairSink& sink) {
  check_folder(folder);
  fs::path root = folder / "usr/share/libreoffice/help";
  if (!fs::is_directory(root)) root = folder;
  const auto names = folder_names(root);
  const fs::path source = root / choose_folder(root, names, from), target = root / choose_folder(root, names, to);
  size_t joined = 0;
  for (const fs::path& page : files_below(source, is_page)) {
    const fs::path relative = page.lexically_relative(source);
    if (fs::is_regular_file(target / relative)) joined += join_pages(page, target / relative, relative.string(), sink);
  }
  check(joined > 0, "{}: expected help pages with the same paragraphs in '{}' and '{}', found none", root.string(), from, to);
}

}  // namespace jumok
