// Every score, window and cell: the gradients of one step in float64 against differences, and those of the fused f32 path against them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>

#include "attention/recurrent_attention.h"
#include "base/rng.h"
#include "nn/recurrent.h"
#include "recurrent_step_reference.h"

namespace jumok {
namespace {

using kernels::Cell;
using reference::MatrixPlace;
using reference::StepShape;
using Choice = std::tuple<Score, Window, Cell>;

constexpr int64_t kInput = 5, kWidth = 6, kKeys = 7;
constexpr int kLocationPositions = 5;  // fewer than there are keys

// Relative to the norm of each parameter's gradient. Differences: the curvature's share is near 1e-10, the rounding's near 1e-9 of a loss
// of size 1. f32: 2^-24 over sums of tens of terms is near 1e-6; 1e-3 is promised.
constexpr double kStep = 1e-5, kDifferences = 1e-6, kFused = 1e-4;

// The step as the models are built of it.
class RecurrentStep : public testing::TestWithParam<Choice> {
 protected:
  RecurrentStep() {
    const auto [score, window, cell] = GetParam();
    cell_ = Recurrent::make(layout_, "cell", cell, kInput, kWidth);
    attention_ = RecurrentAttention::make(layout_, "attention", {score, window, 2, 2, kWidth, kWidth, 4, kLocationPositions});
    shape_ = {score, window, cell, kWidth, kKeys, 2, 2, 4};
    int64_t size = layout_.size();
    for (const auto& e : layout_.entries()) {
      shape_.places[e.name] = {e.parameter.offset, e.parameter.rows, e.parameter.columns, e.parameter.stride};
    }
    const auto place = [&](const char* name, int64_t rows, int64_t columns) {
      shape_.places[name] = {size, rows, columns, columns};
      size += rows * columns;
    };
    place("x", 1, kInput);
    place("h0", 1, kWidth);
    place("memory", kKeys, kWidth);
    if (cell == Cell::kLstm) place("c0", 1, kWidth);
    Rng rng(hash_words(static_cast<int>(score), static_cast<int>(window), static_cast<int>(cell)));
    const auto numbers = [&](int64_t n, double deviation) {
      std::vector<float> v(static_cast<size_t>(n));
      for (float& x : v) x = static_cast<float>(deviation * rng.normal());
      return v;
    };
    numbers_ = numbers(size, 0.5);
    of_c_ = numbers(attention_.context_width(), 1);
    of_h_ = numbers(kWidth, 1);
    of_cell_ = numbers(kWidth, 1);
    shape_.of_c.assign(of_c_.begin(), of_c_.end());
    shape_.of_h.assign(of_h_.begin(), of_h_.end());
    shape_.of_cell.assign(of_cell_.begin(), of_cell_.end());
  }

  std::vector<double> in_f64() const { return {numbers_.begin(), numbers_.end()}; }

  // The value of this name with a place for its gradient.
  Variable input(Context& context, const std::string& name) {
    const MatrixPlace& p = shape_.places.at(name);
    Variable v = context.result(p.rows, p.columns);
    for (int64_t r = 0; r < p.rows; ++r) std::copy_n(numbers_.data() + p.offset + r * p.stride, p.columns, v.value.row(r));
    return v;
  }
  static void give(Context& context, const Variable& v, const std::vector<float>& gradient) {
    std::copy(gradient.begin(), gradient.end(), sink(context.arena, v).tensor.row(0));
  }

  // Loss and gradients of the fused path, laid out like `numbers_`.
  std::pair<double, std::vector<double>> fused() {
    Arena arena;
    Tape tape;
    std::vector<float> gradients(numbers_.size());
    Context context{arena, numbers_.data(), &tape, gradients.data()};
    const Variable x = input(context, "x"), h0 = input(context, "h0"), memory = input(context, "memory");
    const std::vector<int32_t> zero = {0}, one = {1}, keys = {kKeys}, position = {static_cast<int32_t>(shape_.position)};
    RecurrentInput in = cell_.over(cell_.input(context, x));
    in.initial_h = h0;
    if (shape_.cell == Cell::kLstm) in.initial_c = input(context, "c0");
    in.begin = zero;
    in.length = one;
    const RecurrentOutput state = recurrent(context, in);
    RecurrentCall call;
    call.rows = {zero, one, zero, keys};
    call.position = position;
    const Variable c = attention_(context, state.h, attention_.prepare(context, memory), call);
    double loss = 0;
    for (size_t i = 0; i < of_c_.size(); ++i) loss += double{of_c_[i]} * c.value.row(0)[i];
    for (size_t i = 0; i < of_h_.size(); ++i) loss += double{of_h_[i]} * state.h.value.row(0)[i];
    give(context, c, of_c_);
    give(context, state.h, of_h_);
    if (state.last_c.value) {
      for (size_t i = 0; i < of_cell_.size(); ++i) loss += double{of_cell_[i]} * state.last_c.value.row(0)[i];
      give(context, state.last_c, of_cell_);
    }
    tape.backward();
    const auto keep = [&](const char* name, const Variable& v) {
      const MatrixPlace& p = shape_.places.at(name);
      for (int64_t r = 0; r < p.rows; ++r) std::copy_n(v.gradient->tensor.row(r), p.columns, gradients.data() + p.offset + r * p.stride);
    };
    keep("x", x);
    keep("h0", h0);
    keep("memory", memory);
    if (shape_.cell == Cell::kLstm) keep("c0", in.initial_c);
    return {loss, {gradients.begin(), gradients.end()}};
  }

  template <typename Use>
  void for_each_place(Use use) const {
    for (const auto& [name, p] : shape_.places) {
      SCOPED_TRACE(name);
      std::vector<size_t> elements;
      for (int64_t r = 0; r < p.rows; ++r) {
        for (int64_t c = 0; c < p.columns; ++c) elements.push_back(static_cast<size_t>(p.offset + r * p.stride + c));
      }
      use(elements);
    }
  }

  ParameterLayout layout_;
  Recurrent cell_;
  RecurrentAttention attention_;
  StepShape shape_;
  std::vector<float> numbers_, of_c_, of_h_, of_cell_;
};

// ‖actual - expected‖ ≤ tolerance · ‖expected‖, which is not 0: no parameter is left out.
void expect_near(const std::vector<size_t>& elements, const std::vector<double>& actual, const std::vector<double>& expected,
                 double tolerance) {
  double error = 0, norm = 0;
  for (const size_t i : elements) {
    error += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  EXPECT_GT(std::sqrt(norm), 1e-6);
  EXPECT_LT(std::sqrt(error), tolerance * std::sqrt(norm));
}

TEST_P(RecurrentStep, TheReferencesGradientsAreItsDifferences) {
  std::vector<double> numbers = in_f64(), differences(numbers.size());
  const std::vector<double> gradients = reference::step_gradient(shape_, numbers);
  for_each_place([&](const std::vector<size_t>& elements) {
    for (const size_t i : elements) {
      const double x = numbers[i];
      numbers[i] = x + kStep;
      const double high = reference::step_loss(shape_, numbers);
      numbers[i] = x - kStep;
      const double low = reference::step_loss(shape_, numbers);
      numbers[i] = x;
      differences[i] = (high - low) / (2 * kStep);
    }
    expect_near(elements, gradients, differences, kDifferences);
  });
}

TEST_P(RecurrentStep, TheFusedPathHasTheReferencesLossAndGradients) {
  const auto [loss, gradients] = fused();
  const std::vector<double> numbers = in_f64(), expected = reference::step_gradient(shape_, numbers);
  EXPECT_NEAR(loss, reference::step_loss(shape_, numbers), 1e-5);
  for_each_place([&, &actual = gradients](const std::vector<size_t>& elements) { expect_near(elements, actual, expected, kFused); });
}

// Where the target is longer than its source (t ≥ S), local-m stays centred on the last position: it sees the keys 4, 5 and 6 of 7. Not of
// the location score, which knows but one of them.
class RecurrentStepBehindTheSource : public RecurrentStep {};

TEST_P(RecurrentStepBehindTheSource, TheFusedPathHasTheReferencesLossAndGradients) {
  for (const int64_t t : {kKeys, kKeys + 1, kKeys + 5}) {
    shape_.position = t;
    const auto [loss, gradients] = fused();
    const std::vector<double> numbers = in_f64(), expected = reference::step_gradient(shape_, numbers);
    EXPECT_NEAR(loss, reference::step_loss(shape_, numbers), 1e-5) << t;
    for_each_place([&, &actual = gradients](const std::vector<size_t>& elements) { expect_near(elements, actual, expected, kFused); });
  }
}

std::string name_of(const testing::TestParamInfo<Choice>& info) {
  const auto [score, window, cell] = info.param;
  const char* const scores[] = {"", "", "additive", "dot", "general", "concat", "location", "scaled_dot", "multi_head"};
  const char* const windows[] = {"global", "localm", "localp"};
  const char* const cells[] = {"tanh", "gru", "lstm"};
  return std::string(scores[static_cast<int>(score)]) + "_" + windows[static_cast<int>(window)] + "_" + cells[static_cast<int>(cell)];
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentStep,
                         testing::Combine(testing::Values(Score::kAdditive, Score::kDot, Score::kGeneral, Score::kConcat, Score::kLocation,
                                                          Score::kScaledDot, Score::kMultiHead),
                                          testing::Values(Window::kGlobal, Window::kLocalM, Window::kLocalP),
                                          testing::Values(Cell::kTanh, Cell::kGru, Cell::kLstm)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(All, RecurrentStepBehindTheSource,
                         testing::Combine(testing::Values(Score::kAdditive, Score::kDot, Score::kGeneral, Score::kConcat, Score::kScaledDot,
                                                          Score::kMultiHead),
                                          testing::Values(Window::kLocalM), testing::Values(Cell::kTanh, Cell::kGru, Cell::kLstm)),
                         name_of);

}  // namespace
}  // namespace jumok
