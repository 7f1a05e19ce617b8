// The gradient check of one op, through a loss Σ w∘y with fixed random w.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "autograd/context.h"
#include "gradient_check.h"

namespace jumok {

// Inputs and parameters of the op under test live in one block, so that one check covers all of them.
class OpTest : public testing::Test {
 protected:
  // The op: reads its inputs through `in` and gives the outputs that the loss looks at.
  using Op = std::function<std::vector<Variable>(Context&, const std::function<Variable(const Parameter&)>& in)>;

  Parameter place(int64_t rows, int64_t columns) {
    const Parameter p{static_cast<int64_t>(values_.size()), rows, columns, columns};
    for (int64_t i = 0; i < rows * columns; ++i) values_.push_back(static_cast<float>(rng_.normal()));
    return p;
  }

  float at(const Parameter& p, int64_t r, int64_t c) const { return values_[p.offset + r * p.stride + c]; }

  // What the arena hands out later was something else before.
  static void poison(Arena& arena) {
    std::ranges::fill(arena.allocate<float>(1 << 14), std::numeric_limits<float>::quiet_NaN());
    arena.reset();
  }
  static Op on_used_memory(Op op) {
    return [op = std::move(op)](Context& c, const std::function<Variable(const Parameter&)>& in) {
      poison(c.arena);
      return op(c, in);
    };
  }

  // The only result of the op, element by element, with a tape and without.
  void expect_value(const Op& op, int64_t rows, int64_t columns, const std::function<float(int64_t r, int64_t c)>& expected) {
    for (const bool recording : {false, true}) {
      Arena arena;
      Tape tape;
      std::vector<float> gradient(values_.size(), 0.0f);
      Context context{arena, values_.data(), recording ? &tape : nullptr, gradient.data()};
      const auto in = [&](const Parameter& p) {
        return Variable{context.value(p), recording ? new (arena.allocate<Gradient>(1).data()) Gradient() : nullptr};
      };
      const std::vector<Variable> outputs = op(context, in);
      ASSERT_EQ(outputs.size(), 1u);
      const Tensor& y = outputs[0].value;
      ASSERT_EQ(y.rows, rows);
      ASSERT_EQ(y.columns, columns);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) ASSERT_FLOAT_EQ(y.row(r)[c], expected(r, c)) << "row " << r << ", column " << c;
      }
    }
  }

  // An input is a parameter's numbers used as a value: its gradient is copied back into the block afterwards.
  double run(const Op& op, std::vector<float>* gradient) {
    Arena arena;
    Tape tape;
    Context context{arena, values_.data()};
    if (gradient != nullptr) {
      gradient->assign(values_.size(), 0.0f);
      context.tape = &tape;
      context.gradients = gradient->data();
    }
    std::vector<std::pair<Parameter, Variable>> inputs;
    const auto in = [&](const Parameter& p) {
      Variable v{context.value(p), gradient != nullptr ? new (arena.allocate<Gradient>(1).data()) Gradient() : nullptr};
      inputs.emplace_back(p, v);
      return v;
    };
    double loss = 0;
    Rng weights(7);
    const std::vector<Variable> outputs = op(context, in);
    for (const Variable& y : outputs) {
      const GradientSink dy = gradient != nullptr && y.value.rows > 0 ? sink(arena, y) : GradientSink();
      for (int64_t r = 0; r < y.value.rows; ++r) {
        for (int64_t c = 0; c < y.value.columns; ++c) {
          const double w = weights.normal();
          loss += w * y.value.row(r)[c];
          if (gradient == nullptr) continue;
          float& g = dy.tensor.row(r)[c];
          g = static_cast<float>(dy.accumulate ? g + w : w);
        }
      }
    }
    tape.backward();
    for (const auto& [p, v] : inputs) {
      if (gradient == nullptr || !v.gradient->written) continue;
      for (int64_t r = 0; r < p.rows; ++r) {
        for (int64_t c = 0; c < p.columns; ++c) (*gradient)[p.offset + r * p.stride + c] += v.gradient->tensor.row(r)[c];
      }
    }
    return loss;
  }

  void check(const Op& op, double epsilon = 1e-2, double tolerance = 5e-3) {
    std::vector<float> gradient;
    run(op, &gradient);
    double norm = 0;
    for (const float g : gradient) norm += std::abs(g);
    ASSERT_GT(norm, 0) << "nothing to check";
    expect_directional_gradient(
        values_, gradient, 0, static_cast<int64_t>(values_.size()), [&] { return run(op, nullptr); }, epsilon, tolerance, 3);
  }

  Rng rng_{5};
  std::vector<float> values_;
};

}  // namespace jumok
