// Laws of recurrent layers: a row's bits depend on its own sentence alone; a loop of single steps is the whole run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "autograd/recurrent.h"
#include "autograd/recurrent_cases.h"
#include "base/rng.h"

namespace jumok {
namespace {

using kernels::Cell;
using kernels::gates;

// A layer of random weights, and random gates and initial states for as many rows and sentences as a test wants.
class RecurrentLaws : public testing::TestWithParam<RecurrentVariant> {
 protected:
  static constexpr int64_t kWidth = 21;  // not a multiple of a vector

  int64_t gate_columns() const { return gates(GetParam().cell) * kWidth; }
  Parameter weight() const { return {0, gate_columns(), kWidth, kWidth}; }
  Parameter bias() const { return {gate_columns() * kWidth, 1, gate_columns(), gate_columns()}; }
  bool is_lstm() const { return GetParam().cell == Cell::kLstm; }

  void SetUp() override {
    values_ = numbers(1, gate_columns() * (kWidth + 1), 0.4);
    gradients_.assign(values_.size(), 0.0f);
  }
  static std::vector<float> numbers(uint64_t key, int64_t n, double scale = 1) {
    Rng rng(key);
    std::vector<float> v(n);
    for (float& x : v) x = static_cast<float>(rng.normal() * scale);
    return v;
  }
  Context context(bool recording = false) { return {arena_, values_.data(), recording ? &tape_ : nullptr, gradients_.data()}; }
  static Variable view(std::vector<float>& v, int64_t rows, int64_t columns) { return {{v.data(), rows, columns, columns}, nullptr}; }
  Variable with_gradient(Variable v) {
    v.gradient = new (arena_.allocate<Gradient>(1).data()) Gradient();
    return v;
  }
  RecurrentInput input(const Variable& x, std::span<const int32_t> begin, std::span<const int32_t> length) const {
    return {x, weight(), bias(), {}, {}, begin, length, GetParam().cell, GetParam().reset_after};
  }

  Arena arena_;
  Tape tape_;
  std::vector<float> values_, gradients_;
};

testing::AssertionResult same_row(const Tensor& a, int64_t ra, const Tensor& b, int64_t rb) {
  if (a.columns == b.columns && std::memcmp(a.row(ra), b.row(rb), a.columns * sizeof(float)) == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "row " << ra << " differs from row " << rb;
}

struct Batch {
  std::vector<int32_t> begin, length;
  int64_t rows = 0;
  explicit Batch(std::vector<int32_t> lengths) : length(std::move(lengths)) {
    for (const int32_t n : length) begin.push_back(static_cast<int32_t>(rows)), rows += n;
  }
};

TEST_P(RecurrentLaws, ASentenceHasTheSameBitsAloneAndInAnyCompanyAndOrder) {
  const Batch batch({2, 7, 0, 5, 60, 1, 5, 3});
  std::vector<float> x = numbers(2, batch.rows * gate_columns()), h0 = numbers(3, 8 * kWidth), c0 = numbers(4, 8 * kWidth);
  for (const bool reversed : {false, true}) {
    for (const bool recording : {false, true}) {
      Context c = context(recording);
      RecurrentInput all = input(view(x, batch.rows, gate_columns()), batch.begin, batch.length);
      all.reversed = reversed;
      all.initial_h = view(h0, 8, kWidth);
      if (is_lstm()) all.initial_c = view(c0, 8, kWidth);
      const RecurrentOutput together = recurrent(c, all);
      for (int b = 0; b < 8; ++b) {
        Context alone = context();
        RecurrentInput one = all;
        const std::vector<int32_t> begin = {0}, length = {batch.length[b]};
        one.x.value = all.x.value.row_slice(batch.begin[b], length[0]);
        one.initial_h.value = all.initial_h.value.row_slice(b, 1);
        if (is_lstm()) one.initial_c.value = all.initial_c.value.row_slice(b, 1);
        one.begin = begin, one.length = length;
        const RecurrentOutput out = recurrent(alone, one);
        for (int32_t r = 0; r < length[0]; ++r) EXPECT_TRUE(same_row(together.h.value, batch.begin[b] + r, out.h.value, r)) << b;
        EXPECT_TRUE(same_row(together.last_h.value, b, out.last_h.value, 0)) << b;
        if (is_lstm()) {
          EXPECT_TRUE(same_row(together.last_c.value, b, out.last_c.value, 0)) << b;
        }
      }
    }
  }
}

TEST_P(RecurrentLaws, UnsortedSentencesGiveWhatSortedOnesGive) {
  const std::vector<int32_t> begin = {0, 2, 7, 10}, length = {2, 5, 3, 5};  // sorted: 1, 3, 2, 0
  const std::vector<int32_t> sorted = {1, 3, 2, 0}, sorted_begin = {2, 10, 7, 0}, sorted_length = {5, 5, 3, 2};
  std::vector<float> x = numbers(2, 15 * gate_columns());
  Context c = context();
  const RecurrentOutput a = recurrent(c, input(view(x, 15, gate_columns()), begin, length));
  const RecurrentOutput b = recurrent(c, input(view(x, 15, gate_columns()), sorted_begin, sorted_length));
  for (int64_t r = 0; r < 15; ++r) EXPECT_TRUE(same_row(a.h.value, r, b.h.value, r));
  for (int64_t rank = 0; rank < 4; ++rank) EXPECT_TRUE(same_row(a.last_h.value, sorted[rank], b.last_h.value, rank));
}

// The backward direction of a short sentence starts at its own last row and ends at its first; its states are those of the row sequence
// turned.
TEST_P(RecurrentLaws, ReversedIsTheTurnedSentenceFromItsOwnLastRow) {
  const Batch batch({2, 7});
  std::vector<float> x = numbers(2, 9 * gate_columns()), turned(x.size());
  for (int b = 0; b < 2; ++b) {
    for (int32_t r = 0; r < batch.length[b]; ++r) {
      std::copy_n(&x[(batch.begin[b] + r) * gate_columns()], gate_columns(),
                  &turned[(batch.begin[b] + batch.length[b] - 1 - r) * gate_columns()]);
    }
  }
  Context c = context();
  RecurrentInput in = input(view(x, 9, gate_columns()), batch.begin, batch.length);
  in.reversed = true;
  const RecurrentOutput a = recurrent(c, in);
  const RecurrentOutput b = recurrent(c, input(view(turned, 9, gate_columns()), batch.begin, batch.length));
  for (int s = 0; s < 2; ++s) {
    for (int32_t r = 0; r < batch.length[s]; ++r) {
      EXPECT_TRUE(same_row(a.h.value, batch.begin[s] + r, b.h.value, batch.begin[s] + batch.length[s] - 1 - r));
    }
    EXPECT_TRUE(same_row(a.last_h.value, s, b.last_h.value, s));
    EXPECT_TRUE(same_row(a.last_h.value, s, a.h.value, batch.begin[s])) << "ends at the first row";
  }
}

// A decoder's loop: sentences longest first, step t of those that have one, the state handed on; ended ones pass through with length 0.
TEST_P(RecurrentLaws, ALoopOfSingleStepsIsTheWholeRunBitForBitAndInItsGradients) {
  const std::vector<int32_t> lengths = {6, 4, 4, 1};
  const Batch batch(lengths);
  std::vector<float> x = numbers(2, batch.rows * gate_columns()), h0 = numbers(3, 4 * kWidth), c0 = numbers(4, 4 * kWidth);
  const std::vector<float> dh = numbers(5, batch.rows * kWidth), dlast = numbers(6, 4 * kWidth);

  Context c = context(true);
  RecurrentInput all = input(with_gradient(view(x, batch.rows, gate_columns())), batch.begin, batch.length);
  all.initial_h = with_gradient(view(h0, 4, kWidth));
  if (is_lstm()) all.initial_c = with_gradient(view(c0, 4, kWidth));
  const RecurrentOutput whole = recurrent(c, all);
  const auto give = [&](const Variable& v, const std::vector<float>& d, int64_t row, int64_t from) {
    const GradientSink s = row == 0 || !v.gradient->written ? sink(arena_, v) : GradientSink{v.gradient->tensor, true};
    for (int64_t k = 0; k < kWidth; ++k) s.tensor.row(row)[k] = d[from * kWidth + k];
  };
  for (int64_t r = 0; r < batch.rows; ++r) give(whole.h, dh, r, r);
  for (int64_t b = 0; b < 4; ++b) give(whole.last_h, dlast, b, b);
  tape_.backward();
  const std::vector<float> expected = gradients_;
  std::fill(gradients_.begin(), gradients_.end(), 0.0f);

  RecurrentWeightSum sum(c, weight(), bias(), GetParam().cell, GetParam().reset_after);
  struct Step {
    Variable x;
    RecurrentOutput out;
    int32_t alive;
  };
  std::vector<Step> steps;
  Variable h = with_gradient(view(h0, 4, kWidth)), state = is_lstm() ? with_gradient(view(c0, 4, kWidth)) : Variable();
  const Variable first_h = h, first_c = state;
  std::vector<std::vector<float>> memory(6);
  for (int32_t t = 0; t < 6; ++t) {
    const int32_t alive = static_cast<int32_t>(std::count_if(lengths.begin(), lengths.end(), [&](int32_t n) { return n > t; }));
    std::vector<int32_t> begin(4, 0), length(4, 0);
    for (int32_t b = 0; b < alive; ++b) {
      begin[b] = b, length[b] = 1;
      memory[t].insert(memory[t].end(), &x[(batch.begin[b] + t) * gate_columns()],
                       &x[(batch.begin[b] + t) * gate_columns()] + gate_columns());
    }
    RecurrentInput in = input(with_gradient(view(memory[t], alive, gate_columns())), begin, length);
    in.initial_h = h, in.initial_c = state, in.sum = &sum;
    steps.push_back({in.x, recurrent(c, in), alive});
    h = steps.back().out.last_h, state = steps.back().out.last_c;
    for (int32_t b = 0; b < alive; ++b) EXPECT_TRUE(same_row(steps[t].out.h.value, b, whole.h.value, batch.begin[b] + t)) << "step " << t;
  }
  for (int64_t b = 0; b < 4; ++b) EXPECT_TRUE(same_row(h.value, b, whole.last_h.value, b));

  for (int64_t b = 0; b < 4; ++b) give(h, dlast, b, b);
  for (int32_t t = 0; t < 6; ++t) {
    const bool shared = steps[t].out.h.gradient == steps[t].out.last_h.gradient;
    EXPECT_EQ(shared, steps[t].alive == 4) << "a step of all sentences in order gives one variable for h and last_h";
    for (int32_t b = 0; b < steps[t].alive; ++b) {
      if (!shared) give(steps[t].out.h, dh, b, batch.begin[b] + t);
    }
    if (shared) {
      const GradientSink s = sink(arena_, steps[t].out.h);
      for (int64_t b = 0; b < 4; ++b) {
        for (int64_t k = 0; k < kWidth; ++k)
          s.tensor.row(b)[k] = dh[(batch.begin[b] + t) * kWidth + k] + (s.accumulate ? s.tensor.row(b)[k] : 0);
      }
    }
  }
  tape_.backward();
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(gradients_[i], expected[i], 2e-5) << "weight or bias " << i;
  for (int32_t t = 0; t < 6; ++t) {
    for (int32_t b = 0; b < steps[t].alive; ++b) {
      for (int64_t k = 0; k < gate_columns(); ++k) {
        ASSERT_NEAR(steps[t].x.gradient->tensor.row(b)[k], all.x.gradient->tensor.row(batch.begin[b] + t)[k], 1e-5) << t << " " << b;
      }
    }
  }
  for (int64_t b = 0; b < 4; ++b) {
    for (int64_t k = 0; k < kWidth; ++k) {
      EXPECT_NEAR(first_h.gradient->tensor.row(b)[k], all.initial_h.gradient->tensor.row(b)[k], 1e-5);
      if (is_lstm()) {
        EXPECT_NEAR(first_c.gradient->tensor.row(b)[k], all.initial_c.gradient->tensor.row(b)[k], 1e-5);
      }
    }
  }
}

TEST_P(RecurrentLaws, ASingleStepInOrderWritesTheLastStateAndReadsTheInitialInPlace) {
  std::vector<float> x = numbers(2, 3 * gate_columns()), h0 = numbers(3, 3 * kWidth);
  const std::vector<int32_t> begin = {0, 1, 2}, length = {1, 1, 1};
  Context c = context();
  RecurrentInput in = input(view(x, 3, gate_columns()), begin, length);
  in.initial_h = view(h0, 3, kWidth);
  const std::vector<float> before = h0;
  const RecurrentOutput out = recurrent(c, in);
  EXPECT_EQ(out.h.value.data, out.last_h.value.data);
  EXPECT_EQ(h0, before) << "the initial state is the caller's";
  const std::vector<int32_t> turned = {2, 1, 0};
  in.begin = turned;
  const RecurrentOutput other = recurrent(c, in);
  for (int64_t b = 0; b < 3; ++b)
    EXPECT_TRUE(same_row(other.h.value, turned[b], other.last_h.value, b)) << "rows are not the sentences' order";
}

TEST_P(RecurrentLaws, EmptySentencesKeepTheirInitialStateAndPassItsGradientOn) {
  std::vector<float> x = numbers(2, 2 * gate_columns()), h0 = numbers(3, 3 * kWidth), c0 = numbers(4, 3 * kWidth);
  for (const std::vector<int32_t>& length : {std::vector<int32_t>{0, 2, 0}, {0, 0, 0}, {0, 1, 0}}) {
    const std::vector<int32_t> begin = {0, 0, 2};
    for (const bool initial : {false, true}) {
      Context c = context(true);
      const int64_t rows = length[1];
      RecurrentInput in = input(with_gradient(view(x, rows, gate_columns())), begin, length);
      if (initial) in.initial_h = with_gradient(view(h0, 3, kWidth));
      if (initial && is_lstm()) in.initial_c = with_gradient(view(c0, 3, kWidth));
      const RecurrentOutput out = recurrent(c, in);
      const GradientSink d = sink(arena_, out.last_h);
      for (int64_t b = 0; b < 3; ++b) std::fill_n(d.tensor.row(b), kWidth, 1.5f);
      tape_.backward();
      for (const int64_t b : {0, 2}) {
        for (int64_t k = 0; k < kWidth; ++k) {
          EXPECT_EQ(out.last_h.value.row(b)[k], initial ? h0[b * kWidth + k] : 0);
          if (initial) {
            EXPECT_EQ(in.initial_h.gradient->tensor.row(b)[k], 1.5f);
          }
          if (is_lstm()) {
            EXPECT_EQ(out.last_c.value.row(b)[k], initial ? c0[b * kWidth + k] : 0);
          }
        }
      }
    }
  }
  const std::vector<int32_t> none;
  Context c = context();
  const RecurrentOutput out = recurrent(c, input(view(x, 0, gate_columns()), none, none));
  EXPECT_EQ(out.h.value.rows + out.last_h.value.rows, 0);
}

TEST_P(RecurrentLaws, RowsOfNoSentenceGiveZerosWhateverTheyAndTheMemoryHold) {
  std::vector<float> x = numbers(2, 5 * gate_columns());
  std::fill_n(&x[gate_columns()], gate_columns(), std::nanf(""));
  for (const auto& [begin, length] : {std::pair<std::vector<int32_t>, std::vector<int32_t>>{{2, 0}, {3, 1}}, {{0}, {1}}}) {
    arena_.reset();
    for (float& dirty : arena_.allocate<float>(100000)) dirty = std::nanf("");
    arena_.reset();
    Context c = context(true);
    const RecurrentInput in = input(with_gradient(view(x, 5, gate_columns())), begin, length);
    const RecurrentOutput out = recurrent(c, in);
    const GradientSink d = sink(arena_, out.h);
    for (int64_t r = 0; r < 5; ++r) std::fill_n(d.tensor.row(r), kWidth, 1.0f);
    tape_.backward();
    for (int64_t k = 0; k < kWidth; ++k) EXPECT_EQ(out.h.value.row(1)[k], 0);
    for (int64_t k = 0; k < gate_columns(); ++k) EXPECT_EQ(in.x.gradient->tensor.row(1)[k], 0);
    for (const float g : gradients_) ASSERT_TRUE(std::isfinite(g));
  }
}

TEST_P(RecurrentLaws, LargeGatesGiveNoNanForwardOrBackward) {
  const Batch batch({9, 4});
  for (const double scale : {100.0, 1e4}) {
    std::vector<float> x = numbers(2, batch.rows * gate_columns(), scale);
    Context c = context(true);
    const RecurrentInput in = input(with_gradient(view(x, batch.rows, gate_columns())), batch.begin, batch.length);
    const RecurrentOutput out = recurrent(c, in);
    const GradientSink d = sink(arena_, out.h);
    for (int64_t r = 0; r < batch.rows; ++r) std::fill_n(d.tensor.row(r), kWidth, 1.0f);
    tape_.backward();
    for (int64_t r = 0; r < batch.rows; ++r) {
      for (int64_t k = 0; k < kWidth; ++k) ASSERT_LE(std::abs(out.h.value.row(r)[k]), 1.000001f);
      for (int64_t k = 0; k < gate_columns(); ++k) ASSERT_TRUE(std::isfinite(in.x.gradient->tensor.row(r)[k]));
    }
    for (const float g : gradients_) ASSERT_TRUE(std::isfinite(g));
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentLaws, testing::ValuesIn(recurrent_variants()), [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace jumok
