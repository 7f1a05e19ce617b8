// The last parameter sets of a training run, and their mean: a better model than the last set alone (Vaswani 2017 §6.1).
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <vector>

#include "nn/parameters.h"

namespace jumok {

// Sets live in files of `folder` (a big model's ten sets would not fit in memory), and the mean is computed from them in the order of
// their updates, so that a resumed run has the same bits.
class Snapshots {
 public:
  // Takes over the sets of `updates` that a stopped run left; other snapshot files of the folder are removed.
  Snapshots(std::filesystem::path folder, const ParameterLayout& layout, int keep, std::vector<int64_t> updates = {});

  // Writes the set of this update; the oldest beyond `keep` no longer counts, but stays on disk until prune(): a checkpoint may name it.
  void add(int64_t update, const float* parameters);
  std::vector<int64_t> updates() const { return {updates_.begin(), updates_.end()}; }
  void prune();

  // The mean of the kept sets, [layout.size()]; empty when there is none.
  std::vector<float> mean() const;

 private:
  std::filesystem::path path(int64_t update) const;

  std::filesystem::path folder_;
  const ParameterLayout& layout_;
  size_t keep_;
  std::deque<int64_t> updates_;  // at most keep_
  std::vector<int64_t> forgotten_;
};

}  // namespace jumok
