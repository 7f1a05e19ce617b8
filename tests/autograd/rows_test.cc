// Rows moved about: values by plain loops, gradients by finite differences, on memory that was something else before.
#include "autograd/rows.h"

#include <algorithm>

#include "autograd/op_test.h"

namespace jumok {
namespace {

class RowsTest : public OpTest {
 protected:
  // Rows that no result reads have a gradient of exactly 0.
  void expect_no_gradient(const Op& op, const Parameter& p, const std::vector<int64_t>& rows) {
    std::vector<float> gradient;
    run(op, &gradient);
    for (const int64_t r : rows) {
      for (int64_t c = 0; c < p.columns; ++c) EXPECT_EQ(gradient[p.offset + r * p.stride + c], 0.0f) << "row " << r << ", column " << c;
    }
  }

  // For four rows.
  const std::vector<int32_t> order_ = {2, 0, 3, 1}, later_ = {6, 4, 7, 5};
  const std::vector<float> scale_ = {0.5f, -2.0f, 0.0f, 3.0f};
  const std::vector<uint32_t> keys_ = {11, 12, 13, 14};
  const kernels::Dropout dropout_{0.4f, 3, keys_.data()};
};

TEST_F(RowsTest, RowsGatheredSeveralTimesAddTheirGradients) {
  const Parameter x = place(5, 7);
  const std::vector<int32_t> index = {4, 0, 4, 2, 4, 0};  // 1 and 3 never
  const Op gather = on_used_memory([&](Context& c, auto& in) { return std::vector{gather_rows(c, in(x), index)}; });
  expect_value(gather, 6, 7, [&](int64_t r, int64_t c) { return at(x, index[r], c); });
  check(gather);
  expect_no_gradient(gather, x, {1, 3});
}

TEST_F(RowsTest, ScatteredBlocksLieInTheRowsTheyName) {
  const Parameter a = place(3, 5), b = place(2, 5), none = place(0, 5);
  const std::vector<int32_t> to_a = {4, 0, 2}, to_b = {1, 3}, nowhere = {};
  const std::pair<Parameter, int64_t> from[] = {{a, 1}, {b, 0}, {a, 2}, {b, 1}, {a, 0}};
  const Op scatter = on_used_memory([&](Context& c, auto& in) {
    const std::vector<RowBlock> blocks = {{in(a), to_a}, {in(b), to_b}, {in(none), nowhere}};
    return std::vector{scatter_rows(c, 5, blocks)};
  });
  expect_value(scatter, 5, 5, [&](int64_t r, int64_t c) { return at(from[r].first, from[r].second, c); });
  check(scatter);
  const std::vector<int32_t> asked = {4, 1};
  const Op some = on_used_memory([&](Context& c, auto& in) {
    const std::vector<RowBlock> blocks = {{in(a), to_a}, {in(b), to_b}};
    return std::vector{gather_rows(c, scatter_rows(c, 5, blocks), asked)};
  });
  check(some);
  expect_no_gradient(some, a, {1, 2});
  expect_no_gradient(some, b, {1});
}

TEST_F(RowsTest, FirstRowsAreAViewAndTheRestGetsNoGradientFromThem) {
  const Parameter x = place(5, 3);
  for (const int64_t rows : {1, 4, 5}) {
    SCOPED_TRACE(testing::Message() << rows << " rows");
    const Op first = on_used_memory([&](Context& c, auto& in) {
      const Variable v = in(x), y = first_rows(c, v, rows);
      EXPECT_EQ(y.value.data, v.value.data);
      return std::vector{y};
    });
    expect_value(first, rows, 3, [&](int64_t r, int64_t c) { return at(x, r, c); });
    check(first);
    std::vector<int64_t> rest;
    for (int64_t r = rows; r < 5; ++r) rest.push_back(r);
    expect_no_gradient(first, x, rest);
  }
}

// A decoder's states: fewer rows with every step, each step's gradient on top of the others'.
TEST_F(RowsTest, FewerAndFewerFirstRowsOfOneResultAddTheirGradients) {
  const Parameter x = place(4, 5);
  check(on_used_memory([&](Context& c, auto& in) {
    const Variable all = scale_rows(c, in(x), scale_), three = first_rows(c, all, 3);
    return std::vector{first_rows(c, three, 1), drop(c, three, dropout_), first_rows(c, all, 2)};
  }));
}

TEST_F(RowsTest, BranchesHaveGradientsOfTheirOwnThatAddUp) {
  const Parameter x = place(4, 9);
  const Op one = on_used_memory([&](Context& c, auto& in) { return std::vector{branch(c, in(x))}; });
  expect_value(one, 4, 9, [&](int64_t r, int64_t c) { return at(x, r, c); });
  check(one);
  check(on_used_memory([&](Context& c, auto& in) {
    const Variable v = in(x), a = branch(c, v), b = branch(c, v);
    EXPECT_EQ(a.value.data, v.value.data);
    if (c.tape != nullptr) {
      EXPECT_NE(a.gradient, v.gradient);
      EXPECT_NE(a.gradient, b.gradient);
    }
    return std::vector{scale_rows(c, a, scale_), sum(c, a, b), b};
  }));
}

TEST_F(RowsTest, ColumnsOfUnequalWidthsStandSideBySide) {
  const std::vector<Parameter> parts = {place(3, 5), place(3, 1), place(3, 9)};
  const Op concat = on_used_memory([&](Context& c, auto& in) {
    std::vector<Variable> all;
    for (const Parameter& p : parts) all.push_back(in(p));
    return std::vector{concat_columns(c, all)};
  });
  expect_value(concat, 3, 15, [&](int64_t r, int64_t c) {
    size_t part = 0;
    while (c >= parts[part].columns) c -= parts[part++].columns;
    return at(parts[part], r, c);
  });
  check(concat);
}

TEST_F(RowsTest, BothSidesOfASumGetItsGradient) {
  const Parameter a = place(3, 7), b = place(3, 7);
  const Op both = on_used_memory([&](Context& c, auto& in) { return std::vector{sum(c, in(a), in(b))}; });
  expect_value(both, 3, 7, [&](int64_t r, int64_t c) { return at(a, r, c) + at(b, r, c); });
  check(both);
  const Op twice = on_used_memory([&](Context& c, auto& in) {
    const Variable v = in(a);
    return std::vector{sum(c, v, v)};
  });
  expect_value(twice, 3, 7, [&](int64_t r, int64_t c) { return 2 * at(a, r, c); });
  check(twice);
}

TEST_F(RowsTest, EveryRowHasItsOwnScale) {
  const Parameter x = place(4, 7);
  const Op scaled = on_used_memory([&](Context& c, auto& in) { return std::vector{scale_rows(c, in(x), scale_)}; });
  expect_value(scaled, 4, 7, [&](int64_t r, int64_t c) { return scale_[r] * at(x, r, c); });
  check(scaled);
  expect_no_gradient(scaled, x, {2});
}

TEST_F(RowsTest, WhatIsDroppedGetsNoGradientAndTheRestIsScaledBothWays) {
  const Parameter x = place(4, 21);
  const auto kept = [&](int64_t r, int64_t c) {
    const uint32_t seed = kernels::dropout_row_seed(keys_[r], dropout_.site);
    return kernels::dropout_bits(seed, static_cast<uint32_t>(c)) >= kernels::keep_threshold(dropout_.rate);
  };
  const Op dropped = on_used_memory([&](Context& c, auto& in) { return std::vector{drop(c, in(x), dropout_)}; });
  expect_value(dropped, 4, 21, [&](int64_t r, int64_t c) { return kept(r, c) ? at(x, r, c) / (1 - dropout_.rate) : 0.0f; });
  check(dropped);
  std::vector<float> gradient;
  run(dropped, &gradient);
  int64_t survivors = 0;
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t c = 0; c < 21; ++c) {
      EXPECT_EQ(gradient[x.offset + r * 21 + c] != 0, kept(r, c)) << "row " << r << ", column " << c;
      survivors += kept(r, c);
    }
  }
  EXPECT_GT(survivors, 84 * 0.4);
  EXPECT_LT(survivors, 84 * 0.8);
}

TEST_F(RowsTest, WhatChangesNothingIsTheValueItself) {
  const Parameter x = place(4, 5);
  Arena arena;
  Tape tape;
  Context recording{arena, values_.data(), &tape}, inference{arena, values_.data()};
  const Variable v{recording.value(x), new (arena.allocate<Gradient>(1).data()) Gradient()};
  const std::vector<Variable> same = {drop(recording, v, {0.0f, 3, keys_.data()}), drop(recording, v, {0.4f, 3, nullptr}),
                                      first_rows(recording, v, 4), concat_columns(recording, {v}), branch(inference, v)};
  for (const Variable& y : same) {
    EXPECT_EQ(y.value.data, v.value.data);
    EXPECT_EQ(y.value.rows, 4);
    EXPECT_EQ(y.gradient, v.gradient);
  }
}

TEST_F(RowsTest, AValueThatOthersReadTooGetsTheGradientsOfAll) {
  const Parameter x = place(4, 5), y = place(4, 5);
  const std::vector<int32_t> index = {3, 3, 0};
  check(on_used_memory([&](Context& c, auto& in) {
    const Variable v = in(x), other = in(y);
    const std::vector<RowBlock> blocks = {{v, order_}, {v, later_}};
    return std::vector{gather_rows(c, v, index),
                       scatter_rows(c, 8, blocks),
                       first_rows(c, v, 2),
                       branch(c, v),
                       concat_columns(c, {v, other, v}),
                       sum(c, other, v),
                       scale_rows(c, v, scale_),
                       drop(c, v, dropout_),
                       v};
  }));
}

TEST_F(RowsTest, ConstantsGetNoGradient) {
  const Parameter x = place(4, 5);
  check(on_used_memory([&](Context& c, auto& in) {
    const Variable v = in(x);
    const Variable fixed{c.arena.tensor(4, 5), nullptr};
    for (int64_t r = 0; r < 4; ++r) std::fill_n(fixed.value.row(r), 5, 1.25f);
    const std::vector<RowBlock> blocks = {{fixed, order_}, {v, later_}};
    return std::vector{scatter_rows(c, 8, blocks),
                       concat_columns(c, {fixed, v, fixed}),
                       sum(c, gather_rows(c, fixed, order_), v),
                       sum(c, first_rows(c, v, 2), first_rows(c, fixed, 2)),
                       sum(c, branch(c, fixed), v),
                       sum(c, scale_rows(c, fixed, scale_), drop(c, fixed, dropout_))};
  }));
}

TEST_F(RowsTest, NoRowsAreHarmless) {
  const Parameter x = place(4, 5), none = place(0, 5);
  const std::vector<int32_t> nothing = {};
  check(on_used_memory([&](Context& c, auto& in) {
    const Variable v = in(x), e = in(none), y = branch(c, v);
    const std::vector<RowBlock> blocks = {{e, nothing}};
    std::vector<Variable> empty = {gather_rows(c, v, nothing), scatter_rows(c, 0, blocks), first_rows(c, v, 0), branch(c, e)};
    empty.push_back(gather_rows(c, e, nothing));
    empty.push_back(concat_columns(c, {e, e}));
    empty.push_back(sum(c, e, e));
    empty.push_back(scale_rows(c, e, scale_));
    empty.push_back(drop(c, e, dropout_));
    for (const Variable& z : empty) {
      EXPECT_EQ(z.value.rows, 0);
      if (c.tape != nullptr) sink(c.arena, z);
    }
    return std::vector{y};
  }));
}

TEST_F(RowsTest, NothingIsDoneWhereNoResultGotAGradient) {
  const Parameter x = place(4, 5);
  Arena arena;
  Tape tape;
  Context context{arena, values_.data(), &tape};
  const Variable v{context.value(x), new (arena.allocate<Gradient>(1).data()) Gradient()};
  const std::vector<RowBlock> blocks = {{v, order_}};
  gather_rows(context, v, order_), scatter_rows(context, 4, blocks), first_rows(context, v, 2), branch(context, v);
  concat_columns(context, {v, v}), sum(context, v, v), scale_rows(context, v, scale_), drop(context, v, dropout_);
  tape.backward();
  EXPECT_FALSE(v.gradient->written);
}

}  // namespace
}  // namespace jumok
