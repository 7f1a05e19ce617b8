// Moving rows about: what a decoder that goes step by step needs to take its inputs out of a packed batch and to lay its outputs back.
#pragma once

#include <span>
#include <vector>

#include "autograd/context.h"

namespace jumok {

// Index spans must outlive the tape (an arena's memory does).

// y_n = x[index_n], [index.size(), C].      dx[index_n] += dy_n
Variable gather_rows(Context& context, const Variable& x, std::span<const int32_t> index);

// y[index_r] = x_r for the rows of every block; together the blocks name each of the `rows` rows once.      dx_r = dy[index_r]
struct RowBlock {
  Variable x;                      // [index.size(), C]
  std::span<const int32_t> index;  // rows of the result
};
Variable scatter_rows(Context& context, int64_t rows, const std::vector<RowBlock>& blocks);

// The first `rows` rows of x, a view. Others may read x too.
Variable first_rows(Context& context, const Variable& x, int64_t rows);

// x again, a view with a gradient of its own: where one op reads the same value as several of its inputs.
Variable branch(Context& context, const Variable& x);

// [a, b, …]: the parts side by side, [N, Σ C].
Variable concat_columns(Context& context, const std::vector<Variable>& parts);

// a + b, [N, C].
Variable sum(Context& context, const Variable& a, const Variable& b);

// y_n = scale_n · x_n, [N, C]; scale [N].
Variable scale_rows(Context& context, const Variable& x, std::span<const float> scale);

// x with elements dropped (Srivastava 2014), kept ones scaled by 1 / (1 - rate); x itself where nothing is dropped.
Variable drop(Context& context, const Variable& x, const kernels::Dropout& dropout);

}  // namespace jumok
