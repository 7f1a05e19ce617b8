#include "tensor/arena.h"

#include <algorithm>

namespace jumok {
namespace {
constexpr int64_t kAlign = 64;
constexpr int64_t kSmallestBlock = 1 << 20;
}  // namespace

void* Arena::bytes(int64_t n) {
  n = (n + kAlign - 1) / kAlign * kAlign;
  total_ += n;
  peak_ = std::max(peak_, total_);
  if (blocks_.empty() || used_ + n > blocks_.back().size) {
    const int64_t size = std::max({n, kSmallestBlock, blocks_.empty() ? 0 : blocks_.back().size});
    // make_unique would clear the memory; new[] alone leaves it untouched. One extra line of room to align the start.
    blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size + kAlign]), size});
    used_ = 0;
  }
  const auto start = (reinterpret_cast<uintptr_t>(blocks_.back().memory.get()) + kAlign - 1) / kAlign * kAlign;
  void* result = reinterpret_cast<void*>(start + used_);
  used_ += n;
  return result;
}

void Arena::reset() {
  if (blocks_.size() > 1) {
    blocks_.clear();
    const int64_t size = total_ + total_ / 8;
    blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size + kAlign]), size});
  }
  used_ = total_ = 0;
}

}  // namespace jumok
