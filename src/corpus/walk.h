// The files below a folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace jumok {

// All regular files below `folder` (links to files count, links to folders are not followed) for whose path `wanted` is true, sorted by
// path so that results do not depend on the file system. Throws Error when `folder` is missing, no folder, or cannot be read.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::function<bool(const std::filesystem::path&)>& wanted);

// Throws Error unless `folder` is there and a folder.
void check_folder(const std::filesystem::path& folder);

}  // namespace jumok
