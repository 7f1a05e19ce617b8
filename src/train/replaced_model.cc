#include "train/replaced_model.h"

#include <iterator>

#include "base/error.h"
#include "base/file.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

// In the order of moving: with the config `replaced` is all of a model, without it the parameters say that some of one is still on its way.
// They are forgotten in the other order.
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
  const fs::path to = aside(folder);
  const bool parameters = stands(to / kModelFiles[0]), whole = parameters && stands(to / "config.json");
  const bool begun = parameters && !whole;  // a move that was broken off: the rest of that model is still here
  const bool keep = !whole && (begun || stands(folder / kModelFiles[0]));
  if (keep) make_folder(to);
  for (const char* name : kModelFiles) {
    if (keep && stands(folder / name)) {
      move_file(folder / name, to / name);
    } else {
      take_away(folder / name);
    }
  }
}

bool holds_replaced_model(const fs::path& folder) { return stands(aside(folder) / kModelFiles[0]); }

void forget_replaced_model(const fs::path& folder) {
  std::error_code ignored;
  for (auto name = std::rbegin(kModelFiles); name != std::rend(kModelFiles); ++name) fs::remove(aside(folder) / *name, ignored);
  fs::remove(aside(folder), ignored);  // what is not ours stays
}

}  // namespace jumok
