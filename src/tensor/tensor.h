// A view of a matrix of numbers. All activations of the project are matrices: the packed rows of a batch times a width.
#pragma once

#include "kernels/rows.h"

namespace jumok {

// [rows, columns] f32, row-major, rows `stride` apart. Copying a Tensor copies the view, never the numbers; an Arena or a parameter block
// owns them.
struct Tensor : kernels::Rows {
  Tensor() = default;
  Tensor(float* d, int64_t r, int64_t c, int64_t s) : kernels::Rows{d, r, c, s} {}

  Tensor column_slice(int64_t begin, int64_t count) const { return {data + begin, rows, count, stride}; }
  Tensor row_slice(int64_t begin, int64_t count) const { return {row(begin), count, columns, stride}; }
  explicit operator bool() const { return data != nullptr; }
};

// Row stride for a matrix of `columns`: off multiples of 512 bytes, where rows of a product would fall on the same few cache sets
// (measured: a product with a stride of 2048 floats runs at 40 % of the machine, with 2064 at 85 %; with 256 at 77 % of the rate of 272).
constexpr int64_t padded_stride(int64_t columns) {
  constexpr int64_t kAlias = 128, kPad = 16;
  const int64_t rounded = (columns + 7) / 8 * 8;  // rows start on 32-byte boundaries
  return rounded >= kAlias && rounded % kAlias == 0 ? rounded + kPad : rounded;
}

}  // namespace jumok
