// Recurrent layers: PyTorch's values and gradients, finite differences, errors.
#include "autograd/recurrent.h"

#include "autograd/linear.h"
#include "autograd/op_test.h"
#include "autograd/recurrent_cases.h"
#include "autograd/split.h"
#include "base/error.h"
#include "named_matrices.h"

namespace jumok {
namespace {

using kernels::Cell;
using kernels::gates;

// The matrices of one case of data/recurrent.txt, as parameters of one block and as variables.
class GoldenTest : public testing::TestWithParam<std::pair<const char*, RecurrentVariant>> {
 protected:
  static constexpr int64_t kWidth = 5;

  const NamedMatrix& golden(const std::string& name) const { return all_.at(GetParam().first + ("/" + name)); }
  Parameter place(const std::string& name) {
    const NamedMatrix& m = golden(name);
    const Parameter p{static_cast<int64_t>(values_.size()), m.rows, m.columns, m.columns};
    values_.insert(values_.end(), m.values.begin(), m.values.end());
    return p;
  }
  Variable variable(const Context& context, const Parameter& p) {
    return {context.value(p), new (context.arena.allocate<Gradient>(1).data()) Gradient()};
  }
  void expect_near(const Tensor& actual, const std::string& name, double tolerance, int64_t from_row = 0) {
    const NamedMatrix& m = golden(name);
    ASSERT_EQ(actual.columns, m.columns) << name;
    for (int64_t r = 0; r < actual.rows; ++r) {
      for (int64_t c = 0; c < m.columns; ++c)
        ASSERT_NEAR(actual.row(r)[c], m.at(from_row + r, c), tolerance) << name << " " << r << " " << c;
    }
  }
  // The loss of the case: Σ of result ∘ weight.
  void weigh(Arena& arena, const Variable& v, const std::string& name, int64_t from_row = 0) {
    const NamedMatrix& m = golden("weight-of-" + name);
    const GradientSink d = sink(arena, v);
    for (int64_t r = 0; r < v.value.rows; ++r) std::copy_n(&m.values[(from_row + r) * m.columns], m.columns, d.tensor.row(r));
  }

  const std::map<std::string, NamedMatrix> all_ = read_named_matrices(JUMOK_TEST_DATA "/recurrent.txt");
  std::vector<float> values_;
};

TEST_P(GoldenTest, BothDirectionsOverUnequalLengthsAgreeWithPyTorchForwardAndBackward) {
  const auto [name, variant] = GetParam();
  const bool is_lstm = variant.cell == Cell::kLstm;
  const std::string directions[] = {"forward", "backward"};
  const std::vector<int32_t> begin = {0, 3, 8}, length = {3, 5, 1};
  struct Half {
    Parameter ih, hh, bih, bhh;
    Variable x, h0, c0;
  } half[2];
  const Parameter x = place("x"), h0 = place("h0"), c0 = is_lstm ? place("c0") : Parameter();
  for (int k = 0; k < 2; ++k) {
    half[k].ih = place(directions[k] + "/ih"), half[k].hh = place(directions[k] + "/hh");
    half[k].bih = place(directions[k] + "/bih"), half[k].bhh = place(directions[k] + "/bhh");
  }
  std::vector<float> gradients(values_.size(), 0.0f);
  Arena arena;
  Tape tape;
  Context context{arena, values_.data(), &tape, gradients.data()};
  const Variable input = variable(context, x);
  RecurrentInput in[2];
  for (int k = 0; k < 2; ++k) {
    Half& p = half[k];
    p.h0 = variable(context, h0.row_slice(k * 3, 3));
    if (is_lstm) p.c0 = variable(context, c0.row_slice(k * 3, 3));
    in[k] = {linear(context, input, p.ih, p.bih), p.hh, p.bhh, p.h0, p.c0, begin, length, variant.cell, variant.reset_after};
  }
  const BidirectionalOutput out = bidirectional(context, in[0], in[1]);
  const RecurrentOutput* last[] = {&out.forward, &out.backward};
  expect_near(out.h.value, "h", 1e-6);
  weigh(arena, out.h, "h");
  for (int k = 0; k < 2; ++k) {
    expect_near(last[k]->last_h.value, "last_h", 1e-6, k * 3);
    weigh(arena, last[k]->last_h, "last_h", k * 3);
    ASSERT_EQ(static_cast<bool>(last[k]->last_c.value), is_lstm);
    if (!is_lstm) continue;
    expect_near(last[k]->last_c.value, "last_c", 2e-6, k * 3);
    weigh(arena, last[k]->last_c, "last_c", k * 3);
  }
  tape.backward();
  expect_near(input.gradient->tensor, "d-x", 1e-5);
  for (int k = 0; k < 2; ++k) {
    expect_near(half[k].h0.gradient->tensor, "d-h0", 1e-5, k * 3);
    if (is_lstm) expect_near(half[k].c0.gradient->tensor, "d-c0", 1e-5, k * 3);
    expect_near(context.gradient(half[k].ih), "d-" + directions[k] + "/ih", 1e-5);
    expect_near(context.gradient(half[k].hh), "d-" + directions[k] + "/hh", 1e-5);
    expect_near(context.gradient(half[k].bih), "d-" + directions[k] + "/bih", 1e-5);
    expect_near(context.gradient(half[k].bhh), "d-" + directions[k] + "/bhh", 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, GoldenTest,
                         testing::Values(std::pair{"tanh", RecurrentVariant{Cell::kTanh}},
                                         std::pair{"gru", RecurrentVariant{Cell::kGru, true}},
                                         std::pair{"gru-before", RecurrentVariant{Cell::kGru, false}},
                                         std::pair{"lstm", RecurrentVariant{Cell::kLstm}}),
                         [](const auto& info) { return info.param.second.name(); });

class RecurrentTest : public OpTest {};

// Sentences out of order, one empty, one of a single row; rows 3 and 9 belong to none.
TEST_F(RecurrentTest, GradientsOfEveryInputOfEveryCell) {
  const std::vector<int32_t> begin = {8, 4, 0, 0}, length = {1, 4, 0, 3};
  for (const RecurrentVariant& v : recurrent_variants()) {
    for (const bool reversed : {false, true}) {
      for (const bool initial : {false, true}) {
        values_.clear();
        const int64_t d = 5, g = gates(v.cell) * d;
        const Parameter x = place(10, g), w = place(g, d), b = initial ? place(1, g) : Parameter();
        const Parameter h0 = initial ? place(4, d) : Parameter(), c0 = initial && v.cell == Cell::kLstm ? place(4, d) : Parameter();
        for (float& value : values_) value *= 0.7f;
        check([&](Context& c, auto& in) {
          RecurrentInput r{in(x), w, b, {}, {}, begin, length, v.cell, v.reset_after, reversed};
          if (initial) r.initial_h = in(h0);
          if (c0.exists()) r.initial_c = in(c0);
          const RecurrentOutput out = recurrent(c, r);
          std::vector<Variable> all = {out.h, out.last_h};
          if (v.cell == Cell::kLstm) all.push_back(out.last_c);
          return all;
        });
        if (HasFatalFailure()) FAIL() << v.name() << (reversed ? ", reversed" : "") << (initial ? ", initial state" : "");
      }
    }
  }
}

TEST_F(RecurrentTest, AnyOneOfTheResultsMayHaveAGradientAlone) {
  const std::vector<int32_t> begin = {3, 0, 4}, length = {1, 3, 0};
  for (const RecurrentVariant& v : recurrent_variants()) {
    for (const int which : {0, 1, 2}) {
      if (which == 2 && v.cell != Cell::kLstm) continue;
      values_.clear();
      const int64_t d = 3, g = gates(v.cell) * d;
      const Parameter x = place(4, g), w = place(g, d), h0 = place(3, d);
      check([&](Context& c, auto& in) {
        const RecurrentOutput out = recurrent(c, {in(x), w, {}, in(h0), {}, begin, length, v.cell, v.reset_after});
        return std::vector{which == 0 ? out.h : which == 1 ? out.last_h : out.last_c};
      });
    }
  }
}

// One fused product for both directions; each half of its gradient comes from one of them.
TEST_F(RecurrentTest, GatesMayBeAColumnSliceAndBeReadByOthersToo) {
  const std::vector<int32_t> begin = {2, 0}, length = {4, 2};
  for (const RecurrentVariant& v : recurrent_variants()) {
    values_.clear();
    const int64_t d = 3, g = gates(v.cell) * d;
    const Parameter x = place(6, 4), input = place(2 * g, 4), w = place(g, d), u = place(g, d), other = place(2, g);
    for (float& value : values_) value *= 0.5f;
    check([&](Context& c, auto& in) {
      const std::vector<Variable> halves = split_columns(c, linear(c, in(x), input, {}), 2);
      const BidirectionalOutput out = bidirectional(c, {halves[0], w, {}, {}, {}, begin, length, v.cell, v.reset_after},
                                                    {halves[1], u, {}, {}, {}, begin, length, v.cell, v.reset_after});
      return std::vector{out.h, linear(c, halves[0], other, {})};
    });
  }
}

// h of the first layer is x of the second after a product; its last state starts the second.
TEST_F(RecurrentTest, StackedLayersAndAStateReadTwice) {
  const std::vector<int32_t> begin = {0, 3}, length = {3, 2};
  const Parameter x = place(5, 9), w = place(9, 3), between = place(9, 3), u = place(9, 3);
  check([&](Context& c, auto& in) {
    const RecurrentOutput first = recurrent(c, {in(x), w, {}, {}, {}, begin, length});
    const RecurrentOutput second = recurrent(c, {linear(c, first.h, between, {}), u, {}, first.last_h, {}, begin, length});
    return std::vector{second.h, first.last_h};
  });
}

TEST_F(RecurrentTest, NothingIsDoneWhereNoResultGotAGradient) {
  const Parameter x = place(3, 9), w = place(9, 3);
  const std::vector<int32_t> begin = {0}, length = {3};
  std::vector<float> gradient(values_.size(), 0.0f);
  Arena arena;
  Tape tape;
  Context context{arena, values_.data(), &tape, gradient.data()};
  const Variable input{context.value(x), new (arena.allocate<Gradient>(1).data()) Gradient()};
  recurrent(context, {input, w, {}, {}, {}, begin, length});
  tape.backward();
  EXPECT_FALSE(input.gradient->written);
  EXPECT_EQ(gradient, std::vector<float>(gradient.size(), 0.0f));
}

TEST_F(RecurrentTest, SentencesOutsideTheRowsOrOnTheSameRowsAreNamed) {
  const Parameter x = place(6, 9), w = place(9, 3), wide = place(2, 9), state = place(3, 3);
  Arena arena;
  Context context{arena, values_.data()};
  const auto message = [&](std::vector<int32_t> begin, std::vector<int32_t> length,
                           const std::function<void(RecurrentInput&)>& change = {}) {
    RecurrentInput in{{context.value(x)}, w, {}, {}, {}, begin, length};
    if (change) change(in);
    try {
      recurrent(context, in);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  using testing::IsSubstring;
  EXPECT_EQ(message({0, 3}, {3, 3}), "no error");
  EXPECT_PRED_FORMAT2(IsSubstring, "sentence 1 has rows 4 to 7 of 6", message({0, 4}, {3, 3}));
  EXPECT_PRED_FORMAT2(IsSubstring, "sentence 0 has rows -1 to 2 of 6", message({-1, 4}, {3, 2}));
  EXPECT_PRED_FORMAT2(IsSubstring, "sentence 0 has rows 2 to 1 of 6", message({2}, {-1}));
  EXPECT_PRED_FORMAT2(IsSubstring, "sentence 1 shares a row", message({0, 2}, {3, 3}));
  EXPECT_PRED_FORMAT2(IsSubstring, "found 1 and 2", message({0, 2}, {3}));
  EXPECT_PRED_FORMAT2(IsSubstring, "gate columns, found 9",
                      message({0}, {3}, [](auto& in) { in.cell = Cell::kLstm, in.weight.rows = 12; }));
  EXPECT_PRED_FORMAT2(IsSubstring, "weight of 12 rows, found 9", message({0}, {3}, [](auto& in) { in.cell = Cell::kLstm; }));
  EXPECT_PRED_FORMAT2(IsSubstring, "initial state [1, 3], found [3, 3]",
                      message({0}, {3}, [&](auto& in) { in.initial_h.value = context.value(state); }));
  EXPECT_PRED_FORMAT2(IsSubstring, "only the LSTM", message({0}, {3}, [&](auto& in) { in.initial_c.value = context.value(state); }));
  EXPECT_PRED_FORMAT2(IsSubstring, "a place [6, 3]", message({0}, {3}, [&](auto& in) { in.h.value = context.value(wide); }));
}

}  // namespace
}  // namespace jumok
