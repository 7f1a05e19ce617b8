#include "train/replaced_model.h"

#include "base/error.h"
#include "base/file.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

// The config goes last: without it `replaced` is no model yet, and with it all of one.
constexpr const char* kModelFiles[] = {"model.safetensors", "joint.spm", "source.spm", "target.spm", "config.json"};

fs::path aside(const fs::path& folder) { return folder / "replaced"; }

bool stands(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

void take_away(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  check(!error, "{}: cannot be removed: {}", path.string(), error.message());
}

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  check(!error, "{}: cannot be moved to {}: {}", from.string(), to.string(), error.message());
}

}  // namespace

void set_aside_model(const fs::path& folder) {
  for (const char* name : {"checkpoint/state.safetensors", "training.html"}) take_away(folder / name);
  const bool keep = stands(folder / "model.safetensors") && !stands(aside(folder) / "config.json");
  if (keep) make_folder(aside(folder));
  for (const char* name : kModelFiles) {
    if (keep && stands(folder / name)) {
      move_file(folder / name, aside(folder) / name);
    } else {
      take_away(folder / name);
    }
  }
}

void forget_replaced_model(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(aside(folder), ignored);
}

}  // namespace jumok
