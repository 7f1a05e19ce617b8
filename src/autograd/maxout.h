// Maxout over pairs (Goodfellow 2013; the readout of Bahdanau 2015, A.2.2).
#pragma once

#include "autograd/context.h"

namespace jumok {

// y_c = max(x_{2c}, x_{2c+1}), [N, 2·C] → [N, C]. The gradient goes to the larger of the two, to the first where they are equal.
Variable maxout(Context& context, const Variable& x);

}  // namespace jumok
