// One oneDNN matmul primitive a shape, kept per thread: making one costs about 0.1 ms, running one a microsecond.
#pragma once

#include "kernels/rows.h"

namespace jumok::gemm {

// C = A Bᵀ (+ C) for one block height a.rows. Callers use few different heights, so the cache stays small.
void matmul_nt(kernels::ConstRows a, kernels::ConstRows b, kernels::Rows c, bool accumulate);

}  // namespace jumok::gemm
