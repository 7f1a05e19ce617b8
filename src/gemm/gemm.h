// Matrix products of row-major f32 views. The only folder that sees oneDNN. Every product runs on the calling thread alone: parallelism is
// by sentences, outside.
#pragma once

#include "kernels/rows.h"

namespace jumok::gemm {

using kernels::ConstRows;
using kernels::Rows;

// C = A Bᵀ (+ C when `accumulate`): A [M, K], B [N, K], C [M, N]; the product of a layer, y = x Wᵀ.
// Reproducible: a row of C depends only on that row of A and on B, never on M or on where the row stands (law test on every machine).
void multiply_nt(ConstRows a, ConstRows b, Rows c, bool accumulate = false);

// C = A B (+ C): A [M, K], B [K, N]; the gradient of a layer's input, dx = dy W. Same bits for the same call, no promise across different
// M.
void multiply_nn(ConstRows a, ConstRows b, Rows c, bool accumulate = false);

// C = Aᵀ B (+ C): A [K, M], B [K, N]; the gradient of a layer's weight, dW += dyᵀ x. Same bits for the same call.
void multiply_tn(ConstRows a, ConstRows b, Rows c, bool accumulate = false);

// What multiply_nt runs on; both keep the promise above, on different machines (docs/decisions.md). kAuto asks the processor once.
enum class Backend { kAuto, kSgemm, kMatmul };
void multiply_nt(ConstRows a, ConstRows b, Rows c, bool accumulate, Backend backend);

}  // namespace jumok::gemm
