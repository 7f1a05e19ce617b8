#include "gemm/gemm.h"

#include <omp.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <dnnl.hpp>
#include <vector>

#include "base/error.h"
#include "gemm/matmul_primitive.h"

namespace jumok::gemm {
namespace {

constexpr int64_t kTallest = 144;  // rows of a block
constexpr int64_t kSlice = 512;    // columns of C at a time: the part of B that they need stays in the cache from block to block

// Rows of the next block when `rows` are left. More than are left: the last ones are padded with zero rows.
// oneDNN's AVX2 kernel takes six rows at a time and, of a remainder of 1 to 3, sums in another order (measured: a row's bits are equal for
// all M < 148 with M mod 6 in {0, 4, 5}). Its AVX-512 matmul gives equal bits for every M, but wants a primitive for each: few heights.
int64_t block_rows(int64_t rows, Backend backend) {
  if (rows >= kTallest) return kTallest;
  if (backend == Backend::kSgemm) return rows % 6 == 0 ? rows : std::max(rows, rows / 6 * 6 + 4);
  for (const int64_t height : {96, 48, 24, 12}) {
    if (rows >= height) return height;
  }
  return rows <= 4 ? 4 : 12;
}

// C = op(A) op(B) (+ C), op transposing where its letter is 'T'.
void sgemm(char trans_a, char trans_b, ConstRows a, ConstRows b, Rows c, bool accumulate) {
  const int64_t m = c.rows, n = c.columns, k = trans_a == 'T' ? a.rows : a.columns;
  const auto status =
      dnnl_sgemm(trans_a, trans_b, m, n, k, 1.0f, a.data, a.stride, b.data, b.stride, accumulate ? 1.0f : 0.0f, c.data, c.stride);
  if (status != dnnl_success) fail("matrix product [{}, {}] x [{}, {}]: oneDNN status {}", m, k, k, n, static_cast<int>(status));
}

ConstRows slice(ConstRows m, int64_t begin, int64_t rows) { return {m.row(begin), rows, m.columns, m.stride}; }
Rows slice(Rows m, int64_t begin, int64_t rows) { return {m.row(begin), rows, m.columns, m.stride}; }

void multiply_block(ConstRows a, ConstRows b, Rows c, bool accumulate, Backend backend) {
  if (backend == Backend::kMatmul) {
    matmul_nt(a, b, c, accumulate);
  } else {
    sgemm('N', 'T', a, b, c, accumulate);
  }
}

// The last rows, padded with zero rows to the height of a block in scratch of our own.
void multiply_padded(ConstRows a, ConstRows b, Rows c, int64_t height, bool accumulate, Backend backend) {
  thread_local std::vector<float> in, out;  // scratch, kept because a decoding step comes here with every product
  in.assign(height * a.columns, 0.0f);
  out.assign(height * c.columns, 0.0f);
  for (int64_t r = 0; r < a.rows; ++r) {
    std::memcpy(&in[r * a.columns], a.row(r), a.columns * sizeof(float));
    if (accumulate) std::memcpy(&out[r * c.columns], c.row(r), c.columns * sizeof(float));
  }
  multiply_block({in.data(), height, a.columns, a.columns}, b, {out.data(), height, c.columns, c.columns}, accumulate, backend);
  for (int64_t r = 0; r < a.rows; ++r) std::memcpy(c.row(r), &out[r * c.columns], c.columns * sizeof(float));
}

// A few columns of C, block by block.
void multiply_slice(ConstRows a, ConstRows b, Rows c, bool accumulate, Backend backend) {
  for (int64_t row = 0; row < a.rows;) {
    const int64_t height = block_rows(a.rows - row, backend), rows = std::min(height, a.rows - row);
    if (rows == height) {
      multiply_block(slice(a, row, rows), b, slice(c, row, rows), accumulate, backend);
    } else {
      multiply_padded(slice(a, row, rows), b, slice(c, row, rows), height, accumulate, backend);
    }
    row += rows;
  }
}

// While it lives, oneDNN takes this thread alone; how it shares work would change bits. Then OpenMP has its caller's number again.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

Backend choose_backend() {
  // Instruction sets are sets of bits: as a number, AVX2 with VNNI is above AVX-512.
  constexpr int kAvx512 = dnnl_cpu_isa_avx512_core;
  static const bool avx512 = (dnnl_get_effective_cpu_isa() & kAvx512) == kAvx512;
  return avx512 ? Backend::kMatmul : Backend::kSgemm;
}

// Nothing to multiply: C is empty, or a sum over nothing.
bool is_trivial(int64_t k, Rows c, bool accumulate) {
  if (c.rows == 0 || c.columns == 0) return true;
  if (k > 0) return false;
  if (!accumulate) kernels::clear(c);
  return true;
}

}  // namespace

void multiply_nt(ConstRows a, ConstRows b, Rows c, bool accumulate, Backend backend) {
  assert(a.columns == b.columns && a.rows == c.rows && b.rows == c.columns);
  if (is_trivial(a.columns, c, accumulate)) return;
  if (backend == Backend::kAuto) backend = choose_backend();
  const OneThread alone;
  for (int64_t column = 0; column < b.rows; column += kSlice) {
    const int64_t columns = std::min(kSlice, b.rows - column);
    multiply_slice(a, slice(b, column, columns), {c.data + column, c.rows, columns, c.stride}, accumulate, backend);
  }
}

void multiply_nt(ConstRows a, ConstRows b, Rows c, bool accumulate) { multiply_nt(a, b, c, accumulate, Backend::kAuto); }

void multiply_nn(ConstRows a, ConstRows b, Rows c, bool accumulate) {
  assert(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns);
  if (is_trivial(a.columns, c, accumulate)) return;
  const OneThread alone;
  sgemm('N', 'N', a, b, c, accumulate);
}

void multiply_tn(ConstRows a, ConstRows b, Rows c, bool accumulate) {
  assert(a.rows == b.rows && a.columns == c.rows && b.columns == c.columns);
  if (is_trivial(a.rows, c, accumulate)) return;
  const OneThread alone;
  sgemm('T', 'N', a, b, c, accumulate);
}

}  // namespace jumok::gemm
