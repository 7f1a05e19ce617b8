// Parts of one matrix as variables of their own: Q, K, V of one fused projection, or the K and V of every decoder layer.
#pragma once

#include <vector>

#include "autograd/context.h"

namespace jumok {

// x [N, w·n] → n variables [N, w], views of x. Their gradients are views of x's gradient; a part nobody used gets zeros.
// x must have no other reader.
std::vector<Variable> split_columns(Context& context, const Variable& x, int parts);

}  // namespace jumok
