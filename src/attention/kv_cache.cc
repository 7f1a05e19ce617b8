#include "attention/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace jumok {

void KvCache::reserve(int slots, int capacity) {
  if (slots <= slots_ && capacity <= capacity_) return;
  const int new_slots = std::max(slots, slots_);
  const int new_capacity = capacity <= capacity_ ? capacity_ : std::max(capacity, 2 * capacity_);
  for (auto* blocks : {&keys_, &values_}) {
    for (std::vector<float>& block : *blocks) {
      std::vector<float> grown(static_cast<size_t>(new_slots) * new_capacity * width_);
      for (int s = 0; s < slots_; ++s) {
        std::memcpy(&grown[static_cast<size_t>(s) * new_capacity * width_], slot(block, s), sizeof(float) * length_ * width_);
      }
      block = std::move(grown);
    }
  }
  slots_ = new_slots;
  capacity_ = new_capacity;
}

void KvCache::copy_slot(int32_t from, int32_t to) {
  for (auto* blocks : {&keys_, &values_}) {
    for (std::vector<float>& block : *blocks) std::memcpy(slot(block, to), slot(block, from), sizeof(float) * length_ * width_);
  }
}

void KvCache::follow(std::span<const int32_t> parents, int length) {
  constexpr int kFirstCapacity = 32;
  length_ = length;
  const int rows = static_cast<int>(parents.size());
  reserve(rows, std::max(length + 1, kFirstCapacity));
  std::vector<int32_t> next(rows, -1);
  std::vector<bool> taken(slots_, false);
  if (length == 0) {
    std::iota(next.begin(), next.end(), 0);
  } else {
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
  }
  slot_of_row_ = std::move(next);
  begin_.resize(rows);
  for (int r = 0; r < rows; ++r) begin_[r] = slot_of_row_[r] * capacity_;
  filled_.assign(rows, length + 1);
}

void KvCache::append(size_t layer, const Tensor& k, const Tensor& v) {
  for (size_t r = 0; r < slot_of_row_.size(); ++r) {
    std::memcpy(slot(keys_[layer], slot_of_row_[r]) + length_ * width_, k.row(r), sizeof(float) * width_);
    std::memcpy(slot(values_[layer], slot_of_row_[r]) + length_ * width_, v.row(r), sizeof(float) * width_);
  }
}

}  // namespace jumok
