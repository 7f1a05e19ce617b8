#include "kernels/elementwise.h"

#include "kernels/golden.h"
#include "kernels/grid.h"
#include "kernels/ref/elementwise.h"

namespace jumok::kernels {
namespace {

class ElementwiseTest : public EachTarget {};

// rows × (length, misalignment) for every kernel below.
template <typename Body>
void for_grid(const Body& body) {
  for (const int64_t columns : lengths()) {
    for (int64_t offset = 0; offset < 4; ++offset) body(columns, offset);
  }
}

TEST_P(ElementwiseTest, AddAndAccumulateAreExactOnEveryLength) {
  for_grid([](int64_t columns, int64_t offset) {
    Matrix a(3, columns, 0, offset), b(3, columns, 2, (offset + 1) % 4), out(3, columns, 1, 1), expected(3, columns, 0, 0);
    a.fill_normal(1), b.fill_normal(2);
    ref::add(a.view(), b.view(), expected.view());
    add(a.view(), b.view(), out.view());
    EXPECT_TRUE(same_bits(out.view(), expected.view()));
    EXPECT_TRUE(out.gaps_untouched());
    accumulate(a.view(), b.view());  // in place: b += a
    EXPECT_TRUE(same_bits(b.view(), expected.view()));
    add(a.view(), a.view(), a.view());
    EXPECT_TRUE(a.gaps_untouched());
  });
}

TEST_P(ElementwiseTest, AccumulateColumnsKeepsTheRisingOrderOfRows) {
  for_grid([](int64_t columns, int64_t offset) {
    for (const int64_t rows : {0, 1, 3, 4, 5, 9}) {
      Matrix a(rows, columns, offset, offset), sum(1, columns, 0, offset), expected(1, columns, 0, 0);
      a.fill_normal(3, 100), sum.fill(0.1f), expected.fill(0.1f);
      ref::accumulate_columns(a.view(), expected.view().data);
      accumulate_columns(a.view(), sum.view().data);
      EXPECT_TRUE(same_bits(sum.view(), expected.view())) << rows << " rows";
    }
  });
}

TEST_P(ElementwiseTest, BroadcastRowFillsRowsAndNothingBetween) {
  Matrix bias(1, 5, 0, 1), out(3, 5, 2, 3), zero(0, 5, 0, 0);
  bias.fill_normal(4);
  broadcast_row(bias.view().data, out.view());
  broadcast_row(bias.view().data, zero.view());
  for (int64_t r = 0; r < 3; ++r) EXPECT_EQ(std::memcmp(out.view().row(r), bias.view().data, 5 * sizeof(float)), 0);
  EXPECT_TRUE(out.gaps_untouched());
  add(out.view(), out.view(), out.view());  // the one kernel here that dispatches
}

TEST_P(ElementwiseTest, ActivationsAgreeWithTheDefinition) {
  for (const Activation f : {Activation::kNone, Activation::kRelu, Activation::kTanh, Activation::kSigmoid}) {
    for_grid([f](int64_t columns, int64_t offset) {
      Matrix x(2, columns, 1, offset), y(2, columns, 0, 1), expected(2, columns, 0, 0), dy(2, columns, 3, offset);
      x.fill_normal(5, 4), dy.fill_normal(6);
      ref::activation_forward(f, x.view(), expected.view());
      activation_forward(f, x.view(), y.view());
      EXPECT_TRUE(close(y.view(), expected.view(), 4 * kEpsilon, 0));
      activation_forward(f, x.view(), x.view());
      EXPECT_TRUE(same_bits(x.view(), y.view())) << "in place";
      ref::activation_backward(f, y.view(), dy.view(), expected.view());
      activation_backward(f, y.view(), dy.view(), dy.view());
      EXPECT_TRUE(close(dy.view(), expected.view(), 2 * kEpsilon, kEpsilon));
      EXPECT_TRUE(dy.gaps_untouched() && x.gaps_untouched() && y.gaps_untouched());
    });
  }
}

TEST_P(ElementwiseTest, ActivationsPassNanOn) {
  for (const Activation f : {Activation::kNone, Activation::kRelu, Activation::kTanh, Activation::kSigmoid}) {
    Matrix x(1, 19, 0, 0);
    x.fill(std::nanf(""));
    activation_forward(f, x.view(), x.view());
    for (int64_t c = 0; c < 19; ++c) EXPECT_TRUE(std::isnan(x.at(0, c)));
  }
}

TEST_P(ElementwiseTest, DropoutDropsTheElementsTheHashSays) {
  const uint32_t keys[] = {12345, 0xffffffff};
  const Dropout dropped{.rate = 0.3f, .site = 5, .row_keys = keys};
  Matrix x(2, 40, 1, 1), y(2, 40, 0, 0);
  x.fill(1);
  dropout(dropped, x.view(), y.view());
  for (int64_t r = 0; r < 2; ++r) {
    for (int64_t c = 0; c < 40; ++c)
      EXPECT_FLOAT_EQ(y.at(r, c), static_cast<float>(golden::dropout_keep[r * 40 + c] / 0.7)) << r << ", " << c;
  }
}

TEST_P(ElementwiseTest, DropoutHasTheBitsOfItsDefinition) {
  for_grid([](int64_t columns, int64_t offset) {
    const uint32_t keys[] = {7, 8, 0x80000000};
    for (const float rate : {0.1f, 0.5f, 0.9f}) {
      const Dropout dropped{.rate = rate, .site = 3, .row_keys = keys};
      Matrix x(3, columns, 1, offset), y(3, columns, 0, 2), expected(3, columns, 0, 0);
      x.fill_normal(7);
      ref::dropout(dropped, x.view(), expected.view());
      dropout(dropped, x.view(), y.view());
      // The mask exactly, the values within the rounding of 1/(1 - rate).
      EXPECT_TRUE(close(y.view(), expected.view(), 2 * kEpsilon, 0)) << "rate " << rate;
      dropout(dropped, x.view(), x.view());
      EXPECT_TRUE(same_bits(x.view(), y.view())) << "in place";
    }
  });
}

TEST_P(ElementwiseTest, DropoutKeepsTheExpectation) {
  std::vector<uint32_t> keys(400);
  for (size_t r = 0; r < keys.size(); ++r) keys[r] = static_cast<uint32_t>(mix64(r));
  Matrix x(400, 500, 0, 0);
  x.fill(1);
  dropout({.rate = 0.1f, .site = 1, .row_keys = keys.data()}, x.view(), x.view());
  double sum = 0;
  for (int64_t r = 0; r < 400; ++r) {
    for (int64_t c = 0; c < 500; ++c) sum += x.at(r, c);
  }
  // 200 000 draws: one standard deviation of the mean is sqrt(0.1 · 0.9 / 200 000) / 0.9 = 7.5e-4.
  EXPECT_NEAR(sum / 200000, 1.0, 4 * 7.5e-4);
}

TEST_P(ElementwiseTest, DropoutDropsNanAndCopiesWhenInactive) {
  const uint32_t keys[] = {12345};
  Matrix x(1, 40, 0, 1), y(1, 40, 0, 0);
  x.fill(std::nanf(""));
  dropout({.rate = 0.3f, .site = 5, .row_keys = keys}, x.view(), y.view());
  for (int64_t c = 0; c < 40; ++c) EXPECT_EQ(std::isnan(y.at(0, c)), golden::dropout_keep[c] == 1);
  x.fill_normal(8);
  for (const Dropout& inactive : {Dropout{}, Dropout{.rate = 0.5f}, Dropout{.rate = 0, .site = 1, .row_keys = keys}}) {
    dropout(inactive, x.view(), y.fill(9).view());
    EXPECT_TRUE(same_bits(x.view(), y.view()));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ElementwiseTest, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace jumok::kernels
