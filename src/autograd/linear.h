// y = f(x Wᵀ + b).
#pragma once

#include "autograd/deferred_weight.h"
#include "kernels/elementwise.h"

namespace jumok {

// x [N, K], weight [M, K] (stored [out, in]), bias [1, M] or absent; gives [N, M].
//   dx = (dy ∘ f') W      dW += (dy ∘ f')ᵀ x      db += Σ_n (dy ∘ f')
Variable linear(Context& context, const Variable& x, const Parameter& weight, const Parameter& bias,
                kernels::Activation activation = kernels::Activation::kNone);

// The same with dW and db put off to the end of a loop.
Variable linear(Context& context, const Variable& x, const DeferredWeight& weight,
                kernels::Activation activation = kernels::Activation::kNone);

}  // namespace jumok
