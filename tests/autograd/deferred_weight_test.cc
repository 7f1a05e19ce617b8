// Weight gradients that are put off to the end of a loop.
#include "autograd/deferred_weight.h"

#include "autograd/linear.h"
#include "autograd/op_test.h"

namespace jumok {
namespace {

class DeferredWeightTest : public OpTest {};

TEST_F(DeferredWeightTest, ALoopOfProductsHasTheGradientOfItsFunction) {
  const Parameter x = place(3, 5), w = place(5, 5), b = place(1, 5);
  for (float& v : values_) v *= 0.5f;
  for (const bool has_bias : {false, true}) {
    check([&](Context& c, auto& in) {
      const DeferredWeight weight(c, w, has_bias ? b : Parameter());
      Variable h = in(x);
      std::vector<Variable> all;
      for (const auto f : {kernels::Activation::kTanh, kernels::Activation::kNone, kernels::Activation::kSigmoid}) {
        h = linear(c, h, weight, f);
        all.push_back(h);
      }
      return all;
    });
  }
}

TEST_F(DeferredWeightTest, ProductsWhoseResultNobodyUsedAddNothing) {
  const Parameter x = place(3, 5), y = place(2, 5), w = place(4, 5), b = place(1, 4);
  for (const int used : {1, 2, 3}) {  // bits: the first, the second
    check([&](Context& c, auto& in) {
      const DeferredWeight weight(c, w, b);
      const Variable first = linear(c, in(x), weight), second = linear(c, in(y), weight, kernels::Activation::kTanh);
      std::vector<Variable> all;
      if (used & 1) all.push_back(first);
      if (used & 2) all.push_back(second);
      return all;
    });
  }
}

TEST_F(DeferredWeightTest, ProductsOfNoRowsAndLoopsOfNoProductsAreHarmless) {
  const Parameter x = place(3, 5), w = place(4, 5), b = place(1, 4);
  check([&](Context& c, auto& in) {
    const DeferredWeight weight(c, w, b), unused(c, w, b);
    const Variable empty = linear(c, {in(x).value.row_slice(0, 0), nullptr}, weight), first = linear(c, in(x), weight);
    const Variable last = linear(c, {in(x).value.row_slice(0, 0), nullptr}, weight);
    if (c.tape != nullptr) sink(c.arena, empty), sink(c.arena, last);
    return std::vector{first};
  });
}

TEST_F(DeferredWeightTest, WithoutAContextEachProductAddsItsOwnGradient) {
  const Parameter x = place(3, 5), w = place(4, 5), b = place(1, 4);
  std::vector<float> immediate, put_off;
  run([&](Context& c, auto& in) { return std::vector{linear(c, in(x), DeferredWeight(w, b))}; }, &immediate);
  run([&](Context& c, auto& in) { return std::vector{linear(c, in(x), DeferredWeight(c, w, b))}; }, &put_off);
  EXPECT_EQ(immediate, put_off) << "one product: the same bits";
}

}  // namespace
}  // namespace jumok
