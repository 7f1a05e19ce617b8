#include "attention/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace jumok {
namespace {

constexpr int kFirstCapacity = 32;

}  // namespace

void KvCache::reserve(int slots, int capacity) {
  if (slots <= slots_ && capacity <= capacity_) return;
  const int new_slots = std::max(slots, slots_);
  const int new_capacity = capacity <= capacity_ ? capacity_ : std::max(capacity, 2 * capacity_);
  for (auto* blocks : {&keys_, &values_}) {
    for (std::vector<float>& block : *blocks) {
      std::vector<float> grown(static_cast<size_t>(new_slots) * new_capacity * width_);
      for (int s = 0; s < slots_; ++s) {
        std::memcpy(&grown[static_cast<size_t>(s) * new_capacity * width_], slot(block, s), sizeof(float) * slot_length_[s] * width_);
      }
      block = std::move(grown);
    }
  }
  slots_ = new_slots;
  slot_length_.resize(slots_);
  capacity_ = new_capacity;
}

void KvCache::copy_slot(int32_t from, int32_t to) {
  for (auto* blocks : {&keys_, &values_}) {
    for (std::vector<float>& block : *blocks) std::memcpy(slot(block, to), slot(block, from), sizeof(float) * slot_length_[from] * width_);
  }
  slot_length_[to] = slot_length_[from];
}

// The slots of the live rows.
void KvCache::occupy(std::vector<int32_t> slots) {
  slot_of_row_ = std::move(slots);
  begin_.clear();
  filled_.clear();
  for (const int32_t s : slot_of_row_) {
    begin_.push_back(s * capacity_);
    filled_.push_back(slot_length_[s]);
  }
}

void KvCache::begin(std::span<const int32_t> lengths) {
  reserve(static_cast<int>(lengths.size()), std::max(*std::max_element(lengths.begin(), lengths.end()), kFirstCapacity));
  std::copy(lengths.begin(), lengths.end(), slot_length_.begin());
  std::vector<int32_t> slots(lengths.size());
  std::iota(slots.begin(), slots.end(), 0);
  occupy(std::move(slots));
}

void KvCache::put(size_t layer, int row, const Tensor& k, const Tensor& v, int64_t at) {
  for (int32_t t = 0; t < filled_[row]; ++t) {
    std::memcpy(slot(keys_[layer], slot_of_row_[row]) + t * width_, k.row(at + t), sizeof(float) * width_);
    std::memcpy(slot(values_[layer], slot_of_row_[row]) + t * width_, v.row(at + t), sizeof(float) * width_);
  }
}

void KvCache::follow(std::span<const int32_t> parents) {
  if (slot_of_row_.empty()) return begin(std::vector<int32_t>(parents.size(), 1));
  const int rows = static_cast<int>(parents.size());
  int32_t longest = 0;
  for (const int32_t p : parents) longest = std::max(longest, filled_[p]);
  reserve(rows, longest + 1);
  std::vector<int32_t> next(rows, -1);
  std::vector<bool> taken(slots_, false);
  for (int r = 0; r < rows; ++r) {  // first children first: they keep their parent's slot
    const int32_t s = slot_of_row_[parents[r]];
    if (!taken[s]) {
      taken[s] = true;
      next[r] = s;
    }
  }
  int32_t free = 0;
  for (int r = 0; r < rows; ++r) {
    if (next[r] >= 0) continue;
    while (taken[free]) ++free;
    taken[free] = true;
    next[r] = free;
    copy_slot(slot_of_row_[parents[r]], free);
  }
  for (const int32_t s : next) ++slot_length_[s];
  occupy(std::move(next));
}

void KvCache::append(size_t layer, const Tensor& k, const Tensor& v) {
  for (size_t r = 0; r < slot_of_row_.size(); ++r) {
    const int64_t at = (filled_[r] - 1) * width_;
    std::memcpy(slot(keys_[layer], slot_of_row_[r]) + at, k.row(r), sizeof(float) * width_);
    std::memcpy(slot(values_[layer], slot_of_row_[r]) + at, v.row(r), sizeof(float) * width_);
  }
}

}  // namespace jumok
