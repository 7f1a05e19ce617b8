// Residual, dropout and layer norm as one op (Vaswani 2017 §3.1, §5.4; Ba 2016).
#pragma once

#include "autograd/context.h"

namespace jumok {

struct AddNormResult {
  Variable sum;     // s = x + dropout(f), [N, D]
  Variable normed;  // y = LN(s), [N, D]
};

// x [N, D]; f [N, D] or with no value (then s = x); gamma, beta [1, D].
struct AddNormInput {
  Variable x, f;
  Parameter gamma, beta;
  kernels::Dropout dropout;
  float epsilon = 1e-5f;
};
AddNormResult add_norm(Context& context, const AddNormInput& in);

}  // namespace jumok
