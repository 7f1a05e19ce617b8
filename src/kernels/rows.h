// Views of row-major f32 matrices: the argument type of the kernels. No ownership, no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace jumok::kernels {

// [rows, columns], row r starts at data + r * stride (stride >= columns).
struct Rows {
  float* data = nullptr;
  int64_t rows = 0, columns = 0, stride = 0;
  float* row(int64_t r) const { return data + r * stride; }
};
struct ConstRows {
  const float* data = nullptr;
  int64_t rows = 0, columns = 0, stride = 0;
  ConstRows() = default;
  ConstRows(const float* d, int64_t r, int64_t c, int64_t s) : data(d), rows(r), columns(c), stride(s) {}
  ConstRows(const Rows& m) : data(m.data), rows(m.rows), columns(m.columns), stride(m.stride) {}   // NOLINT: a Rows is a ConstRows
  const float* row(int64_t r) const { return data + r * stride; }
};

// Sets every element to 0.
inline void clear(Rows m) {
  for (int64_t r = 0; r < m.rows; ++r) std::fill_n(m.row(r), m.columns, 0.0f);
}

}  // namespace jumok::kernels
