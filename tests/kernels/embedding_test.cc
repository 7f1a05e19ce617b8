#include "kernels/embedding.h"

#include "kernels/golden.h"
#include "kernels/grid.h"
#include "kernels/ref/embedding.h"

namespace jumok::kernels {
namespace {

class EmbeddingTest : public EachTarget {
 protected:
  static constexpr int32_t kIds[] = {3, 0, 3, 6, 3}, kPositions[] = {0, 1, 2, 0, 3};
  static constexpr uint32_t kKeys[] = {11, 12, 13, 14, 15};
  static constexpr int64_t kRows = 5;

  Embedding embedding(Matrix& table, Matrix* positions, float rate) const {
    Embedding e{.table = table.view(), .ids = kIds, .position = kPositions, .scale = 11.3137f, .dropout = {rate, 2, kKeys}};
    if (positions) e.positions = positions->view();
    return e;
  }
};

TEST_P(EmbeddingTest, ForwardAgreesWithTheDefinition) {
  for (const int64_t columns : lengths()) {
    for (const bool with_positions : {false, true}) {
      for (const float rate : {0.0f, 0.4f}) {
        Matrix table(7, columns, 1, columns % 4), positions(4, columns, 0, 1), y(kRows, columns, 2, 3), expected(kRows, columns, 0, 0);
        table.fill_normal(1), positions.fill_normal(2);
        const Embedding in = embedding(table, with_positions ? &positions : nullptr, rate);
        ref::embedding_forward(in, expected.view());
        embedding_forward(in, y.view());
        EXPECT_TRUE(close(y.view(), expected.view(), 3 * kEpsilon, 16 * kEpsilon));
        EXPECT_TRUE(y.gaps_untouched());
      }
    }
  }
}

TEST_P(EmbeddingTest, BackwardAddsRepeatedWordsAndPositions) {
  for (const int64_t columns : lengths()) {
    for (const float rate : {0.0f, 0.4f}) {
      for (const int wanted : {1, 2, 3}) {  // 1: table, 2: positions
        Matrix table(7, columns, 1, 0), dy(kRows, columns, 1, columns % 4);
        Matrix dtable(7, columns, 1, 2), dpositions(4, columns, 3, 1), expected_table(7, columns, 0, 0),
            expected_positions(4, columns, 0, 0);
        table.fill_normal(1), dy.fill_normal(3);
        for (Matrix* m : {&dtable, &expected_table}) m->fill_normal(4);
        for (Matrix* m : {&dpositions, &expected_positions}) m->fill_normal(5);
        const Embedding in = embedding(table, nullptr, rate);
        ref::embedding_backward(in, dy.view(), wanted & 1 ? expected_table.view() : Rows{},
                                wanted & 2 ? expected_positions.view() : Rows{});
        embedding_backward(in, dy.view(), wanted & 1 ? dtable.view() : Rows{}, wanted & 2 ? dpositions.view() : Rows{});
        EXPECT_TRUE(close(dtable.view(), expected_table.view(), 4 * kEpsilon, 128 * kEpsilon));
        EXPECT_TRUE(close(dpositions.view(), expected_positions.view(), 4 * kEpsilon, 16 * kEpsilon));
        EXPECT_TRUE(dtable.gaps_untouched() && dpositions.gaps_untouched());
      }
    }
  }
}

TEST_P(EmbeddingTest, ARowDoesNotDependOnTheOthers) {
  Matrix table(7, 37, 0, 1), positions(4, 37, 0, 2), all(kRows, 37, 0, 0), alone(1, 37, 0, 3);
  table.fill_normal(1), positions.fill_normal(2);
  Embedding in = embedding(table, &positions, 0.4f);
  embedding_forward(in, all.view());
  for (int64_t n = 0; n < kRows; ++n) {
    Embedding row = in;
    row.ids += n, row.position += n, row.dropout.row_keys += n;
    embedding_forward(row, alone.view());
    EXPECT_TRUE(same_bits(alone.view(), {all.view().row(n), 1, 37, 37}));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, EmbeddingTest, ::testing::ValuesIn(supported_targets()), target_name);

TEST(SinusoidalPositionsTest, InterleavedAsPrinted) {
  Matrix out(4, 6, 1, 0), expected = matrix_of(golden::positions_4x6, 6);
  sinusoidal_positions(out.view());
  EXPECT_TRUE(close(out.view(), expected.view(), kEpsilon, kEpsilon * kEpsilon));
  EXPECT_TRUE(out.gaps_untouched());
  Matrix odd(2, 3, 0, 0);
  sinusoidal_positions(odd.view());
  EXPECT_FLOAT_EQ(odd.at(1, 2), static_cast<float>(std::sin(1 / std::pow(10000.0, 2.0 / 3))));
}

}  // namespace
}  // namespace jumok::kernels
