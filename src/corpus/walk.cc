#include "corpus/walk.h"

#include <algorithm>

#include "base/error.h"

namespace jumok {
namespace fs = std::filesystem;

void check_folder(const fs::path& folder) {
  std::error_code error;
  const auto status = fs::status(folder, error);
  check(status.type() != fs::file_type::not_found, "{}: expected a folder, found nothing there", folder.string());
  check(!error, "{}: cannot be read: {}", folder.string(), error.message());
  check(fs::is_directory(status), "{}: expected a folder, found a file", folder.string());
}

std::vector<fs::path> files_below(const fs::path& folder, const std::function<bool(const fs::path&)>& wanted) {
  check_folder(folder);
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator walk(folder, error);
  check(!error, "{}: cannot be read: {}", folder.string(), error.message());
  for (const fs::recursive_directory_iterator end; walk != end;) {
    std::error_code ignored;  // a broken link is no file
    if (wanted(walk->path()) && walk->is_regular_file(ignored)) files.push_back(walk->path());
    walk.increment(error);
    check(!error, "{}: cannot be read: {}", folder.string(), error.message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace jumok
