// Finite differences of every op.
#include "autograd/add_norm.h"
#include "autograd/embedding.h"
#include "autograd/linear.h"
#include "autograd/op_test.h"
#include "autograd/output_loss.h"
#include "autograd/scaled_dot.h"
#include "autograd/split.h"
#include "base/error.h"

namespace jumok {
namespace {

TEST_F(OpTest, LinearWithEachActivation) {
  const Parameter x = place(7, 5), w = place(4, 5), b = place(1, 4);
  for (const auto f : {kernels::Activation::kNone, kernels::Activation::kTanh, kernels::Activation::kSigmoid}) {
    check([&](Context& c, auto& in) { return std::vector{linear(c, in(x), w, b, f)}; });
  }
  check([&](Context& c, auto& in) { return std::vector{linear(c, in(x), w, b, kernels::Activation::kRelu)}; }, 1e-3,
        2e-2);  // small steps: kinks
  check([&](Context& c, auto& in) { return std::vector{linear(c, in(x), w, {})}; });
}

TEST_F(OpTest, AValueReadTwiceGetsTheSumOfBothGradients) {
  const Parameter x = place(3, 5), w = place(4, 5);
  check([&](Context& c, auto& in) {
    const Variable v = in(x);
    return std::vector{linear(c, v, w, {}), linear(c, v, w, {}, kernels::Activation::kTanh)};
  });
}

TEST_F(OpTest, AddNormWithAndWithoutResidualAndDropout) {
  const Parameter x = place(6, 9), f = place(6, 9), gamma = place(1, 9), beta = place(1, 9);
  const std::vector<uint32_t> keys = {11, 12, 13, 14, 15, 16};
  for (const float rate : {0.0f, 0.4f}) {
    const kernels::Dropout dropout{rate, 3, keys.data()};
    check([&](Context& c, auto& in) {
      const AddNormResult r = add_norm(c, {in(x), in(f), gamma, beta, dropout});
      return std::vector{r.sum, r.normed};
    });
    check([&](Context& c, auto& in) { return std::vector{add_norm(c, {in(x), in(f), gamma, beta, dropout}).normed}; });
    check([&](Context& c, auto& in) { return std::vector{add_norm(c, {in(x), in(f), gamma, beta, dropout}).sum}; });
  }
  check([&](Context& c, auto& in) { return std::vector{add_norm(c, {in(x), {}, gamma, beta, {}}).normed}; });
}

TEST_F(OpTest, EmbeddingWithFixedAndLearnedPositions) {
  const Parameter table = place(5, 6), positions = place(4, 6);
  const std::vector<int32_t> ids = {0, 4, 4, 2}, position = {0, 1, 2, 0};
  EmbeddingInput e;
  e.table = table;
  e.ids = ids;
  e.position = position;
  e.scale = 2.5f;
  check([&](Context& c, auto&) { return std::vector{embedding(c, e)}; });
  e.learned_positions = positions;
  check([&](Context& c, auto&) { return std::vector{embedding(c, e)}; });
}

TEST_F(OpTest, EmbeddingRefusesSymbolsAndPositionsOutsideTheirTables) {
  const Parameter table = place(5, 6), positions = place(3, 6);
  Arena arena;
  Context context{arena, values_.data()};
  EmbeddingInput e;
  e.table = table;
  e.learned_positions = positions;
  const std::vector<int32_t> good = {0, 2}, beyond_table = {0, 5}, beyond_positions = {0, 3}, negative = {-1, 0};
  e.ids = e.position = good;
  EXPECT_NO_THROW(embedding(context, e));
  e.ids = beyond_table;
  EXPECT_THROW(embedding(context, e), Error);
  e.ids = negative;
  EXPECT_THROW(embedding(context, e), Error);
  e.ids = good;
  e.position = beyond_positions;
  EXPECT_THROW(embedding(context, e), Error);
}

TEST_F(OpTest, ScaledDotOverAPackedBatchWithHeadsCausalAndDropout) {
  const Parameter q = place(7, 6), k = place(8, 6), v = place(8, 6);
  const std::vector<int32_t> qb = {0, 3, 3}, ql = {3, 0, 4}, kb = {0, 3, 4}, kl = {3, 1, 4};
  const std::vector<uint32_t> keys = {1, 2, 3, 4, 5, 6, 7};
  for (const bool causal : {false, true}) {
    for (const float rate : {0.0f, 0.3f}) {
      check([&](Context& c, auto& in) {
        ScaledDotInput a{in(q), in(k), in(v), {qb, ql, kb, kl}, 2, 0.6f, causal, {rate, 1, keys.data()}};
        return std::vector{scaled_dot(c, a)};
      });
    }
  }
}

TEST_F(OpTest, KeysThatAreAlsoValuesGetBothGradients) {
  const Parameter q = place(4, 6), k = place(4, 6);
  const std::vector<int32_t> begin = {0}, length = {4};
  check([&](Context& c, auto& in) {
    const Variable shared = in(k);
    return std::vector{scaled_dot(c, {in(q), shared, shared, {begin, length, begin, length}, 2, 0.5f})};
  });
}

TEST_F(OpTest, SplitColumnsHandsBackEveryPartsGradientAndZerosForUnusedOnes) {
  const Parameter x = place(3, 5), w = place(9, 5), u = place(2, 3);
  check([&](Context& c, auto& in) {
    const std::vector<Variable> parts = split_columns(c, linear(c, in(x), w, {}), 3);
    return std::vector{linear(c, parts[0], u, {}), linear(c, parts[2], u, {}, kernels::Activation::kTanh)};
  });
}

TEST_F(OpTest, OutputLossInSeveralChunksWithSmoothing) {
  const int64_t rows = 300;  // more than one chunk
  const Parameter h = place(rows, 4), w = place(7, 4), b = place(1, 7);
  std::vector<int32_t> targets(rows);
  for (auto& t : targets) t = static_cast<int32_t>(rng_.below(7));
  const auto loss_of = [&](std::vector<float>* gradient) {
    Arena arena;
    Tape tape;
    Context context{arena, values_.data()};
    Variable hidden{context.value(h), nullptr};
    if (gradient != nullptr) {
      gradient->assign(values_.size(), 0.0f);
      context.tape = &tape;
      context.gradients = gradient->data();
      hidden.gradient = new (arena.allocate<Gradient>(1).data()) Gradient();
    }
    const OutputLoss loss = output_loss(context, {hidden, w, b, targets, 0.1f});
    for (int64_t r = 0; gradient != nullptr && r < rows; ++r) {
      for (int64_t c = 0; c < 4; ++c) (*gradient)[h.offset + r * 4 + c] = hidden.gradient->tensor.row(r)[c];
    }
    return loss;
  };
  std::vector<float> gradient;
  const OutputLoss loss = loss_of(&gradient);
  EXPECT_EQ(loss.tokens, rows);
  expect_directional_gradient(
      values_, gradient, 0, static_cast<int64_t>(values_.size()), [&] { return loss_of(nullptr).loss; }, 1e-2, 5e-3, 3);
  // The same by definition, in f64.
  double expected = 0;
  for (int64_t r = 0; r < rows; ++r) {
    double logits[7], sum = 0, mean = 0;
    for (int64_t v = 0; v < 7; ++v) {
      logits[v] = values_[b.offset + v];
      for (int64_t c = 0; c < 4; ++c) logits[v] += double(values_[h.offset + r * 4 + c]) * values_[w.offset + v * 4 + c];
      sum += std::exp(logits[v]);
      mean += logits[v] / 7;
    }
    expected += std::log(sum) - 0.9 * logits[targets[r]] - 0.1 * mean;
  }
  EXPECT_NEAR(loss.loss, expected, 1e-4 * expected);
}

TEST_F(OpTest, TargetsOutOfRangeAreNamed) {
  const Parameter h = place(2, 4), w = place(5, 4);
  for (const int32_t bad : {-4, 5, 2147483647}) {
    const std::vector<int32_t> targets = {1, bad};
    Arena arena;
    Context context{arena, values_.data()};
    try {
      output_loss(context, {{context.value(h), nullptr}, w, {}, targets, 0});
      FAIL() << bad;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(bad)), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace jumok
