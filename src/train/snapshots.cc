#include "train/snapshots.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "models/model_files.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {
constexpr char kPrefix[] = "snapshot-";
}

Snapshots::Snapshots(fs::path folder, const ParameterLayout& layout, int keep, std::vector<int64_t> updates)
    : folder_(std::move(folder)), layout_(layout), keep_(static_cast<size_t>(keep)), updates_(updates.begin(), updates.end()) {
  std::error_code ignored;
  for (const int64_t u : updates_) {
    check(fs::exists(path(u), ignored), "{}: expected a parameter set of the stopped run, found nothing there", path(u).string());
  }
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const bool known = std::any_of(updates_.begin(), updates_.end(), [&](int64_t u) { return entry.path() == path(u); });
    if (!known && entry.path().filename().string().starts_with(kPrefix)) fs::remove(entry.path(), ignored);
  }
}

fs::path Snapshots::path(int64_t update) const { return folder_ / (kPrefix + std::to_string(update) + ".safetensors"); }

void Snapshots::add(int64_t update, const float* parameters) {
  write_parameters(path(update), layout_, parameters);
  updates_.push_back(update);
  while (updates_.size() > keep_) {
    forgotten_.push_back(updates_.front());
    updates_.pop_front();
  }
}

void Snapshots::prune() {
  std::error_code ignored;
  for (const int64_t u : forgotten_) fs::remove(path(u), ignored);
  forgotten_.clear();
}

std::vector<float> Snapshots::mean() const {
  if (updates_.empty()) return {};
  std::vector<double> sum(layout_.size());
  std::vector<float> block(layout_.size());
  for (const int64_t u : updates_) {
    read_parameters(SafetensorsFile::read(path(u)), layout_, block.data());
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += block[k];
  }
  const double count = static_cast<double>(updates_.size());
  for (size_t k = 0; k < sum.size(); ++k) block[k] = static_cast<float>(sum[k] / count);
  return block;
}

}  // namespace jumok
