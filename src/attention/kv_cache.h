// Keys and values of the positions decoded so far, for every layer: a step projects its own row and reads the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/scaled_dot.h"

namespace jumok {

// Each live row (hypothesis) owns a slot: `capacity` rows of K and V, of which the first ones are filled, as many as it has positions.
// Slots follow the rows when a beam drops, copies or reorders them; the first child of a row takes over its slot, further ones get a copy.
class KvCache {
 public:
  KvCache(int layers, int64_t width) : width_(width), keys_(layers), values_(layers) {}

  // Row r now continues row parents[r] of the previous step and has one position more; at the first call every row gets an empty slot.
  void follow(std::span<const int32_t> parents);
  // Writes the newest position of every row: k, v [rows, D].
  void append(size_t layer, const Tensor& k, const Tensor& v);

  // In place of the first calls of follow: row r has lengths[r] positions.
  void begin(std::span<const int32_t> lengths);
  // Writes all positions of row r, whose k, v stand in the rows from `at` on.
  void put(size_t layer, int row, const Tensor& k, const Tensor& v, int64_t at);

  // All slots of a layer, [slots · capacity, D], and the rows of it that each live row reads, its new position included.
  Tensor keys(size_t layer) { return view(keys_[layer]); }
  Tensor values(size_t layer) { return view(values_[layer]); }
  AttentionRows rows(std::span<const int32_t> query_begin, std::span<const int32_t> query_length) const {
    return {query_begin, query_length, begin_, filled_};
  }
  // Positions of each live row, the newest included.
  std::span<const int32_t> lengths() const { return filled_; }

 private:
  Tensor view(std::vector<float>& block) { return {block.data(), static_cast<int64_t>(slots_) * capacity_, width_, width_}; }
  float* slot(std::vector<float>& block, int32_t s) { return block.data() + static_cast<int64_t>(s) * capacity_ * width_; }
  void reserve(int slots, int capacity);
  void occupy(std::vector<int32_t> slots);
  void copy_slot(int32_t from, int32_t to);

  int64_t width_;                                  // D
  std::vector<std::vector<float>> keys_, values_;  // per layer [slots, capacity, D]
  int slots_ = 0, capacity_ = 0;
  std::vector<int32_t> slot_length_;     // [slots] positions filled
  std::vector<int32_t> slot_of_row_;     // of each live row
  std::vector<int32_t> begin_, filled_;  // slot · capacity and positions, per live row
};

}  // namespace jumok
