// Finite differences of the RNN attentions, and a decoder's use of them: many calls on shared keys and values, for the sentences still
// alive.
#include "autograd/row_attention.h"

#include <gtest/gtest.h>

#include "autograd/linear.h"
#include "base/error.h"
#include "op_test.h"

namespace jumok {
namespace {

using kernels::RowScore;

class RowAttentionOp : public OpTest {
 protected:
  static Variable constant(const Context& context, const Parameter& p) { return {context.value(p), nullptr}; }

  // Three sentences, one without queries, one whose keys are fewer than a strip.
  const std::vector<int32_t> query_begin_ = {0, 3, 3}, query_length_ = {3, 0, 4}, key_begin_ = {0, 6, 9}, key_length_ = {6, 3, 3};
  const std::vector<int32_t> first_ = {0, 2, 5, -4, 1, 2, 0}, last_ = {4, 5, 5, 2, 2, 9, 3};  // the third query sees nothing
  const std::vector<uint32_t> row_keys_ = {1, 2, 3, 4, 5, 6, 7};
};

TEST_F(RowAttentionOp, EveryScoreWindowGaussianAndHeadCount) {
  for (const RowScore score : {RowScore::kDot, RowScore::kAdditive, RowScore::kGiven}) {
    for (const int heads : {1, 2, 3}) {
      for (int options = 0; options < 8; ++options) {
        const bool window = (options & 1) != 0, gaussian = (options & 2) != 0, dropout = (options & 4) != 0;
        SCOPED_TRACE(testing::Message() << "score " << static_cast<int>(score) << " heads " << heads << " options " << options);
        values_.clear();
        const Parameter q = place(7, 4 * heads), k = place(12, 4 * heads), v = place(12, 3 * heads), u = place(1, 4 * heads);
        const Parameter x = place(7, 2), w = place(1, 2);
        check([&](Context& c, auto& in) {
          RowAttentionInput a;
          a.q = in(q);
          if (score != RowScore::kGiven) a.k = in(k);
          a.v = in(v);
          a.u = u;
          a.rows = {query_begin_, query_length_, key_begin_, key_length_};
          a.score = score;
          a.heads = heads;
          a.scale = 0.6f;
          if (window) a.first = first_, a.last = last_;
          if (gaussian) a.centre = linear(c, in(x), w, {});
          a.sigma = 1.5f;
          if (dropout) a.dropout = {0.3f, 1, row_keys_.data()};
          return std::vector{row_attention(c, a)};
        });
      }
    }
  }
}

// A decoder: one query a sentence and step, fewer sentences with every step, one of them in no step at all.
TEST_F(RowAttentionOp, StepsOnSharedKeysAddTheirGradients) {
  const std::vector<int32_t> begin = {0, 1, 2}, one = {1, 1, 1};
  const Parameter q0 = place(2, 4), q1 = place(1, 4), k = place(12, 4), v = place(12, 3), u = place(1, 4);
  const auto steps = [&](Context& c, auto& in) {
    poison(c.arena);
    const Variable keys = in(k), values = in(v);
    std::vector<Variable> out;
    for (const Parameter* q : {&q0, &q1}) {
      const auto alive = static_cast<size_t>(q->rows);
      RowAttentionInput a{in(*q), keys, values, u};
      a.rows = {std::span(begin).first(alive), std::span(one).first(alive), std::span(key_begin_).first(alive),
                std::span(key_length_).first(alive)};
      a.score = RowScore::kAdditive;
      out.push_back(row_attention(c, a));
    }
    return out;
  };
  check(steps);
  std::vector<float> gradient;
  run(steps, &gradient);
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(gradient[static_cast<size_t>(k.offset + 9 * 4 + i)], 0.0f) << "keys of the sentence never asked";
}

TEST_F(RowAttentionOp, KeysThatAreAlsoValuesGetBothGradients) {
  const Parameter q = place(7, 4), k = place(12, 4), u = place(1, 4);
  check([&](Context& c, auto& in) {
    const Variable shared = in(k);
    RowAttentionInput a{in(q), shared, shared, u, {query_begin_, query_length_, key_begin_, key_length_}, RowScore::kAdditive, 2};
    return std::vector{row_attention(c, a)};
  });
}

// A centre that is a number, not learned (a fixed alignment): no gradient is asked for.
TEST_F(RowAttentionOp, ConstantsGetNoGradient) {
  const Parameter q = place(7, 4), k = place(12, 4), v = place(12, 3);
  check([&](Context& c, auto& in) {
    RowAttentionInput a{in(q), in(k), in(v)};
    a.rows = {query_begin_, query_length_, key_begin_, key_length_};
    a.centre = {c.arena.tensor(7, 1), nullptr};
    for (int64_t r = 0; r < 7; ++r) *a.centre.value.row(r) = 1.25f;
    return std::vector{row_attention(c, a)};
  });
}

TEST_F(RowAttentionOp, WeightsAreThoseOfTheResult) {
  const Parameter q = place(7, 4), k = place(12, 4), v = place(12, 1), u = place(1, 4);
  Arena arena;
  Context context{arena, values_.data()};
  RowAttentionInput a{constant(context, q), constant(context, k), constant(context, v), u};
  a.rows = {query_begin_, query_length_, key_begin_, key_length_};
  a.score = RowScore::kAdditive;
  a.first = first_;
  a.last = last_;
  const Variable out = row_attention(context, a);
  std::vector<float> weights(12);
  row_attention_weights(context, a, 2, 0, weights.data());
  for (int64_t i = 0; i < 4; ++i) {
    float mix = 0;
    for (int64_t j = 0; j < 3; ++j) mix += weights[static_cast<size_t>(i * 3 + j)] * a.v.value.row(9 + j)[0];
    EXPECT_NEAR(out.value.row(3 + i)[0], mix, 1e-6);
  }
}

TEST_F(RowAttentionOp, RefusesShapesThatDoNotFit) {
  const Parameter q = place(7, 4), k = place(12, 4), v = place(12, 3), u = place(1, 4), narrow = place(12, 3), short_u = place(1, 3);
  Arena arena;
  Context context{arena, values_.data()};
  RowAttentionInput good{constant(context, q), constant(context, k), constant(context, v), u};
  good.rows = {query_begin_, query_length_, key_begin_, key_length_};
  good.score = RowScore::kAdditive;
  EXPECT_NO_THROW(row_attention(context, good));
  const auto refuses = [&](const std::function<void(RowAttentionInput&)>& spoil) {
    RowAttentionInput bad = good;
    spoil(bad);
    EXPECT_THROW(row_attention(context, bad), Error);
  };
  refuses([&](RowAttentionInput& a) { a.heads = 3; });
  refuses([&](RowAttentionInput& a) { a.k = constant(context, narrow); });
  refuses([&](RowAttentionInput& a) { a.u = short_u; });
  refuses([&](RowAttentionInput& a) { a.first = first_; });
  refuses([&](RowAttentionInput& a) { a.first = a.last = std::span(first_).first(6); });
  refuses([&](RowAttentionInput& a) { a.centre = a.q; });
  refuses([&](RowAttentionInput& a) {
    a.centre = {arena.tensor(7, 1), nullptr};
    a.sigma = 0;
  });
}

}  // namespace
}  // namespace jumok
