// Maxout: the larger of each pair, by hand and by finite differences.
#include "autograd/maxout.h"

#include <algorithm>

#include "autograd/op_test.h"

namespace jumok {
namespace {

class MaxoutTest : public OpTest {
 protected:
  // The two of a pair are 2 or 3.5 apart, now the first the larger, now the second: no step of the checker crosses a kink.
  Parameter place_apart(int64_t rows, int64_t columns) {
    const Parameter p = place(rows, columns);
    for (int64_t i = 0; i < rows * columns; ++i) values_[p.offset + i] = 0.5f * static_cast<float>(i * 7 % 11) - 2.5f;
    return p;
  }
};

TEST_F(MaxoutTest, TheLargerOfEachPairIsTheResultAndAloneGetsTheGradient) {
  const Parameter x = place_apart(5, 14);
  const Op op = on_used_memory([&](Context& c, auto& in) { return std::vector{maxout(c, in(x))}; });
  expect_value(op, 5, 7, [&](int64_t r, int64_t c) { return std::max(at(x, r, 2 * c), at(x, r, 2 * c + 1)); });
  check(op);
  std::vector<float> gradient;
  run(op, &gradient);
  for (size_t i = 0; i < gradient.size(); i += 2) {
    const size_t larger = values_[i] > values_[i + 1] ? i : i + 1, smaller = larger == i ? i + 1 : i;
    EXPECT_NE(gradient[larger], 0.0f) << larger;
    EXPECT_EQ(gradient[smaller], 0.0f) << smaller;
  }
}

TEST_F(MaxoutTest, WhereBothAreEqualTheFirstGetsTheGradient) {
  const Parameter x = place(2, 6);
  values_ = {2.0f, 2.0f, -1.0f, -1.0f, 0.0f, -0.0f, -0.0f, 0.0f, 1e30f, 1e30f, 0.5f, 0.5f};
  const Op op = on_used_memory([&](Context& c, auto& in) { return std::vector{maxout(c, in(x))}; });
  expect_value(op, 2, 3, [&](int64_t r, int64_t c) { return at(x, r, 2 * c); });
  std::vector<float> gradient;
  run(op, &gradient);
  for (size_t i = 0; i < gradient.size(); i += 2) {
    EXPECT_NE(gradient[i], 0.0f) << i;
    EXPECT_EQ(gradient[i + 1], 0.0f) << i + 1;
  }
}

TEST_F(MaxoutTest, AValueThatOthersReadTooGetsTheGradientsOfAll) {
  const Parameter x = place_apart(3, 10);
  check(on_used_memory([&](Context& c, auto& in) {
    const Variable v = in(x);
    return std::vector{maxout(c, v), maxout(c, v), v};
  }));
}

TEST_F(MaxoutTest, NoRowsAndConstantsAreHarmless) {
  const Parameter x = place_apart(3, 6), none = place(0, 6);
  check(on_used_memory([&](Context& c, auto& in) {
    const Variable v = in(x);
    const Variable empty = maxout(c, in(none)), fixed{c.arena.tensor(3, 6), nullptr};
    EXPECT_EQ(empty.value.rows, 0);
    EXPECT_EQ(empty.value.columns, 3);
    if (c.tape != nullptr) sink(c.arena, empty);
    for (int64_t r = 0; r < 3; ++r) std::fill_n(fixed.value.row(r), 6, 1.25f);
    return std::vector{maxout(c, v), maxout(c, fixed)};
  }));
}

TEST_F(MaxoutTest, NothingIsDoneWhereTheResultGotNoGradient) {
  const Parameter x = place(3, 6);
  Arena arena;
  Tape tape;
  Context context{arena, values_.data(), &tape};
  const Variable input{context.value(x), new (arena.allocate<Gradient>(1).data()) Gradient()};
  maxout(context, input);
  tape.backward();
  EXPECT_FALSE(input.gradient->written);
}

}  // namespace
}  // namespace jumok
