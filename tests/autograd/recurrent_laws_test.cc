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
class RecurrentLoop : public RecurrentLaws {
 protected:
  static constexpr int64_t kSteps = 6, kSentences = 4;
  const Batch batch_{{6, 4, 4, 1}};

  void SetUp() override {
    RecurrentLaws::SetUp();
    x_ = numbers(2, batch_.rows * gate_columns()), h0_ = numbers(3, kSentences * kWidth), c0_ = numbers(4, kSentences * kWidth);
    dh_ = numbers(5, batch_.rows * kWidth), dlast_ = numbers(6, kSentences * kWidth);
  }
  RecurrentInput start(const Variable& x, std::span<const int32_t> begin, std::span<const int32_t> length) {
    RecurrentInput in = input(with_gradient(x), begin, length);
    in.initial_h = with_gradient(view(h0_, kSentences, kWidth));
    if (is_lstm()) in.initial_c = with_gradient(view(c0_, kSentences, kWidth));
    return in;
  }
  // Packed rows of step t, longest sentence first.
  std::vector<int64_t> rows_of(int64_t t) const {
    std::vector<int64_t> rows;
    for (int64_t b = 0; b < kSentences && batch_.length[b] > t; ++b) rows.push_back(batch_.begin[b] + t);
    return rows;
  }
  // One call a step.
  void run_loop(Context& c, const RecurrentWeightSum& sum) {
    for (int64_t t = 0; t < kSteps; ++t) {
      const std::vector<int64_t> rows = rows_of(t);
      const std::vector<int32_t> begin = {0, 1, 2, 3};
      std::vector<int32_t> length(kSentences, 0);
      std::fill_n(length.begin(), rows.size(), 1);
      for (const int64_t r : rows) step_x_[t].insert(step_x_[t].end(), &x_[r * gate_columns()], &x_[r * gate_columns()] + gate_columns());
      RecurrentInput in = start(view(step_x_[t], static_cast<int64_t>(rows.size()), gate_columns()), begin, length);
      if (t > 0) in.initial_h = outputs_.back().last_h, in.initial_c = outputs_.back().last_c;
      in.sum = &sum;
      inputs_.push_back(in);
      outputs_.push_back(recurrent(c, in));
    }
  }
  // Row i of v's gradient += row rows[i] of d.
  void give(const Variable& v, const std::vector<float>& d, const std::vector<int64_t>& rows) {
    const GradientSink s = sink(arena_, v);
    for (size_t i = 0; i < rows.size(); ++i) {
      float* row = s.tensor.row(static_cast<int64_t>(i));
      for (int64_t k = 0; k < kWidth; ++k) row[k] = d[rows[i] * kWidth + k] + (s.accumulate ? row[k] : 0);
    }
  }
  static void expect_near(const Tensor& a, const Tensor& b, const std::vector<int64_t>& rows_of_b) {
    for (size_t i = 0; i < rows_of_b.size(); ++i) {
      for (int64_t k = 0; k < a.columns; ++k) ASSERT_NEAR(a.row(static_cast<int64_t>(i))[k], b.row(rows_of_b[i])[k], 1e-5) << i << " " << k;
    }
  }

  std::vector<float> x_, h0_, c0_, dh_, dlast_, step_x_[kSteps];
  std::vector<RecurrentInput> inputs_;
  std::vector<RecurrentOutput> outputs_;
};

const std::vector<int64_t> kEachSentence = {0, 1, 2, 3};

TEST_P(RecurrentLoop, SingleStepsAreTheWholeRunBitForBit) {
  for (const bool recording : {false, true}) {
    Context c = context(recording);
    const RecurrentOutput whole = recurrent(c, start(view(x_, batch_.rows, gate_columns()), batch_.begin, batch_.length));
    outputs_.clear(), inputs_.clear();
    for (std::vector<float>& x : step_x_) x.clear();
    run_loop(c, RecurrentWeightSum(c, weight(), bias(), GetParam().cell, GetParam().reset_after));
    for (int64_t t = 0; t < kSteps; ++t) {
      const std::vector<int64_t> rows = rows_of(t);
      for (size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(same_row(outputs_[t].h.value, i, whole.h.value, rows[i])) << "step " << t;
      EXPECT_EQ(outputs_[t].h.value.data == outputs_[t].last_h.value.data, rows.size() == kSentences) << "one variable where all step";
    }
    for (const int64_t b : kEachSentence) EXPECT_TRUE(same_row(outputs_.back().last_h.value, b, whole.last_h.value, b));
  }
}

TEST_P(RecurrentLoop, SingleStepsHaveTheGradientsOfTheWholeRun) {
  Context c = context(true);
  const RecurrentInput all = start(view(x_, batch_.rows, gate_columns()), batch_.begin, batch_.length);
  const RecurrentOutput whole = recurrent(c, all);
  std::vector<int64_t> every_row(batch_.rows);
  std::iota(every_row.begin(), every_row.end(), 0);
  give(whole.h, dh_, every_row);
  give(whole.last_h, dlast_, kEachSentence);
  tape_.backward();
  const std::vector<float> expected = gradients_;
  std::fill(gradients_.begin(), gradients_.end(), 0.0f);

  run_loop(c, RecurrentWeightSum(c, weight(), bias(), GetParam().cell, GetParam().reset_after));
  for (int64_t t = 0; t < kSteps; ++t) give(outputs_[t].h, dh_, rows_of(t));
  give(outputs_.back().last_h, dlast_, kEachSentence);
  tape_.backward();
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(gradients_[i], expected[i], 2e-5) << "weight or bias " << i;
  for (int64_t t = 0; t < kSteps; ++t) expect_near(inputs_[t].x.gradient->tensor, all.x.gradient->tensor, rows_of(t));
  expect_near(inputs_[0].initial_h.gradient->tensor, all.initial_h.gradient->tensor, kEachSentence);
  if (is_lstm()) expect_near(inputs_[0].initial_c.gradient->tensor, all.initial_c.gradient->tensor, kEachSentence);
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

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentLoop, testing::ValuesIn(recurrent_variants()), [](const auto& info) { return info.param.name(); });
INSTANTIATE_TEST_SUITE_P(Cells, RecurrentLaws, testing::ValuesIn(recurrent_variants()), [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace jumok
