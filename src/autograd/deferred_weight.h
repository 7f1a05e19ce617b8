// One weight gradient for many small products with the same weight.
#pragma once

#include "autograd/context.h"

namespace jumok {

// The steps of a decoder's loop multiply a few rows each with the same weight. dW += dyᵀ x per step would read and write all of dW for
// them; this object collects the rows of all steps and multiplies once:
//   dW += Σ_t dy_tᵀ x_t = [dy_1; dy_2; …]ᵀ [x_1; x_2; …]        db += Σ_t Σ_n dy_t
// Make it before the loop, on the context's tape: what is recorded first runs last in the backward. Copies share one collection, which
// lives in the arena. Without a tape it only names the weight.
class DeferredWeight {
 public:
  DeferredWeight() = default;
  // weight [M, K]; bias [1, M] or absent. Without a context nothing is put off: each product adds its own gradient.
  DeferredWeight(const Parameter& weight, const Parameter& bias) : weight_(weight), bias_(bias) {}
  DeferredWeight(Context& context, const Parameter& weight, const Parameter& bias);

  const Parameter& weight() const { return weight_; }
  const Parameter& bias() const { return bias_; }
  bool collects() const { return state_ != nullptr; }

  // For the ops that use it. Forward, while recording: one more product, of so many rows. Backward: the x [n, K] of one product, which is
  // copied unless it is the only one; gives the place [n, M] where the caller writes dy. A product whose result got no gradient adds
  // nothing.
  void expect(int64_t rows) const;
  Tensor add(const Tensor& x) const;

 private:
  struct State;
  Parameter weight_, bias_;
  State* state_ = nullptr;  // null: no tape
};

}  // namespace jumok
