// Memory of one micro-batch: handed out in order, given back all at once, kept for the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace jumok {

class Arena {
 public:
  // Uninitialised memory for n values, on a 64-byte boundary, valid until reset().
  template <typename T>
  std::span<T> allocate(int64_t n) {
    return {static_cast<T*>(bytes(n * static_cast<int64_t>(sizeof(T)))), static_cast<size_t>(n)};
  }
  // [rows, columns], uninitialised, rows padded off large powers of two.
  Tensor tensor(int64_t rows, int64_t columns) {
    const int64_t stride = padded_stride(columns);
    return {static_cast<float*>(bytes(rows * stride * static_cast<int64_t>(sizeof(float)))), rows, columns, stride};
  }

  // Gives everything back. If the round needed several blocks, they become one, so that a steady state allocates nothing.
  void reset();

  int64_t peak_bytes() const { return peak_; }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    int64_t size;
  };
  void* bytes(int64_t n);

  std::vector<Block> blocks_;
  int64_t used_ = 0;   // in the last block
  int64_t total_ = 0;  // handed out since the last reset
  int64_t peak_ = 0;
};

}  // namespace jumok
