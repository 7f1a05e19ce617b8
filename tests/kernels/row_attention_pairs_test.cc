// What must hold exactly of the RNN attentions under a mask or a bias: blocked pairs are as good as not there.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/row_attention.h"
#include "row_attention_case.h"

namespace jumok::kernels {
namespace {

constexpr RowScore kScores[] = {RowScore::kDot, RowScore::kAdditive, RowScore::kGiven};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class RowAttentionPairs : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, RowAttentionPairs, ::testing::ValuesIn(supported_targets()), target_name);

RowShape shape_of(std::vector<int32_t> queries, std::vector<int32_t> keys, RowScore score, int heads, bool mask, bool bias) {
  RowShape s{std::move(queries), std::move(keys), score, heads, score == RowScore::kGiven ? 700 : 11, 5};
  s.mask = mask, s.bias = bias;
  return s;
}
// Of the first sentence.
bool allowed(RowCase& a, int64_t query, int64_t key, int head = 0) {
  const RowAttention in = a.attention();
  const bool by_mask = !in.mask || *in.mask.from(1, head).at(query, key) != 0;
  return by_mask && (!in.bias || *in.bias.from(1, head).at(query, key) != -kInfinity);
}
void poison(Matrix& m, int64_t row, float value) {
  for (int64_t c = 0; c < m.view().columns; ++c) m.at(row, c) = value;
}
bool same_results(RowCase& x, RowCase& y) {
  return same_bits(x.query_rows(x.out, 0), y.query_rows(y.out, 0)) && same_bits(x.query_rows(x.lse, 0), y.query_rows(y.lse, 0)) &&
         same_bits(x.query_rows(x.dq, 0), y.query_rows(y.dq, 0)) && same_bits(x.key_rows(x.dk, 0), y.key_rows(y.dk, 0)) &&
         same_bits(x.key_rows(x.dv, 0), y.key_rows(y.dv, 0));
}

// A row under a mask is the row of a problem that has the allowed keys alone, bit for bit, at lengths around a strip and a chunk.
TEST_P(RowAttentionPairs, ARowHasTheBitsItHasWithoutItsBlockedKeys) {
  for (const int32_t keys : {1, 5, 30, 256, 300, 700}) {
    for (const RowScore score : {RowScore::kDot, RowScore::kAdditive}) {
      RowCase all(shape_of({4}, {keys}, score, 1, true, false));
      all.run();
      for (int32_t i = 0; i < 4; ++i) {
        std::vector<int64_t> left;
        for (int64_t j = 0; j < keys; ++j) {
          if (allowed(all, i, j)) left.push_back(j);
        }
        RowCase one(shape_of({1}, {static_cast<int32_t>(left.size())}, score, 1, false, false));
        const auto copy = [](Matrix& from, int64_t row, Matrix& to, int64_t to_row) {
          for (int64_t c = 0; c < from.view().columns; ++c) to.at(to_row, c) = from.at(row, c);
        };
        copy(all.q, 1 + i, one.q, 1);
        copy(all.dout, 1 + i, one.dout, 1);
        copy(all.u, 0, one.u, 0);
        for (size_t n = 0; n < left.size(); ++n) {
          copy(all.k, 1 + left[n], one.k, 1 + static_cast<int64_t>(n));
          copy(all.v, 1 + left[n], one.v, 1 + static_cast<int64_t>(n));
        }
        one.run();
        EXPECT_TRUE(same_bits(RowCase::rows(all.out, 1 + i, 1), RowCase::rows(one.out, 1, 1))) << keys;
        EXPECT_TRUE(same_bits(RowCase::rows(all.lse, 1 + i, 1), RowCase::rows(one.lse, 1, 1))) << keys;
        for (int64_t c = 0; c < 11; ++c) EXPECT_EQ(all.dq.at(1 + i, c), one.dq.at(1, c)) << keys;  // a case's zeros have signs
      }
    }
  }
}

TEST_P(RowAttentionPairs, AMaskThatAllowsEverythingIsNone) {
  for (const RowScore score : kScores) {
    RowCase none(shape_of({9}, {700}, score, 2, false, false)), all(shape_of({9}, {700}, score, 2, true, false));
    std::fill(all.mask.begin(), all.mask.end(), uint8_t{255});
    none.run();
    all.run();
    EXPECT_TRUE(same_results(none, all));
    EXPECT_EQ(none.weights(0, 1), all.weights(0, 1));
  }
}

TEST_P(RowAttentionPairs, Att06AMaskIsTheBiasOfZeroAndMinusInfinity) {
  for (const RowScore score : kScores) {
    RowCase mask(shape_of({9}, {40}, score, 2, true, false)), bias(shape_of({9}, {40}, score, 2, false, true));
    for (size_t n = 0; n < bias.bias.size(); ++n) bias.bias[n] = mask.mask[n] ? 0.0f : -kInfinity;
    mask.run();
    bias.run();
    EXPECT_TRUE(same_results(mask, bias));
    EXPECT_EQ(mask.weights(0, 1), bias.weights(0, 1));
  }
}

// What a blocked key holds, and what the bias of a masked pair holds, changes no bit anywhere; weights and gradients there are 0.
TEST_P(RowAttentionPairs, Att02BlockedContentNeverReachesTheResult) {
  for (const RowScore score : kScores) {
    for (const float value : {RowCase::kNaN, kInfinity, 1e30f}) {
      RowCase clean(shape_of({9}, {40}, score, 2, true, true)), dirty(clean.shape);
      for (int64_t j = 0; j < 40; j += 3) {
        for (int64_t n = 0; n < 2 * dirty.q.view().rows; ++n) {
          const auto at = static_cast<size_t>(n * 40 + j);
          clean.mask[at] = dirty.mask[at] = 0;
          dirty.bias[at] = value;
        }
        poison(dirty.k, 1 + j, value);
        poison(dirty.v, 1 + j, value);
        for (int64_t i = 0; score == RowScore::kGiven && i < 9; ++i) dirty.q.at(1 + i, j) = dirty.q.at(1 + i, 700 + j) = value;
      }
      clean.run();
      dirty.run();
      EXPECT_TRUE(same_results(clean, dirty));
      EXPECT_TRUE(same_bits(clean.du.view(), dirty.du.view()));
      EXPECT_EQ(clean.dbias, dirty.dbias);
      for (int head = 0; head < 2; ++head) {
        const std::vector<float> weights = dirty.weights(0, head);
        EXPECT_EQ(weights, clean.weights(0, head));
        for (int64_t n = 0; n < 9 * 40; ++n) {
          const bool sees = allowed(clean, n / 40, n % 40, head);
          EXPECT_EQ(weights[static_cast<size_t>(n)] != 0, sees) << n;
          EXPECT_TRUE(sees || *dirty.gradient().dbias.from(1, head).at(n / 40, n % 40) == 0) << n;
        }
      }
      for (int64_t c = 0; c < 10; ++c) EXPECT_EQ(dirty.dv.at(1 + 3, c), 0.0f);
      for (int64_t c = 0; score != RowScore::kGiven && c < 22; ++c) EXPECT_EQ(dirty.dk.at(1 + 3, c), 0.0f);
    }
  }
}

// A NaN that a query may see is its weights' business, and still no weight of what it may not see.
TEST_P(RowAttentionPairs, AnAllowedNaNIsNoWeightOfABlockedKey) {
  RowCase a(shape_of({1}, {9}, RowScore::kAdditive, 1, true, false));
  for (int64_t j = 0; j < 9; ++j) *const_cast<uint8_t*>(a.attention().mask.at(1, j)) = j % 2 == 0;
  poison(a.k, 1 + 4, RowCase::kNaN);
  a.run();
  const std::vector<float> weights = a.weights(0, 0);
  for (int64_t j = 0; j < 9; ++j) EXPECT_EQ(weights[static_cast<size_t>(j)] == 0, j % 2 != 0) << j;
  for (int64_t j = 1; j < 9; j += 2) EXPECT_EQ(a.dv.at(1 + j, 0), 0.0f);
}

// Rows of mask and bias that allow nothing, by one of them or by both together, with queries that hold what they like.
TEST_P(RowAttentionPairs, Att01Att03FullyBlockedRowsGiveZerosAndHarmNobody) {
  for (const RowScore score : kScores) {
    RowCase clean(shape_of({4}, {9}, score, 1, true, true)), dirty(clean.shape);
    for (RowCase* a : {&clean, &dirty}) {
      for (int64_t j = 0; j < 9; ++j) {
        a->mask[static_cast<size_t>(2 * 9 + j)] = 0;
        a->bias[static_cast<size_t>(3 * 9 + j)] = -kInfinity;
        a->mask[static_cast<size_t>(4 * 9 + j)] = j % 2 == 0;
        a->bias[static_cast<size_t>(4 * 9 + j)] = j % 2 == 0 ? -kInfinity : 1.0f;
      }
    }
    for (int64_t row : {2, 3, 4}) {
      poison(dirty.q, row, RowCase::kNaN);
      poison(dirty.dout, row, RowCase::kNaN);
    }
    clean.run();
    dirty.run();
    EXPECT_TRUE(same_results(clean, dirty));
    EXPECT_TRUE(same_bits(clean.du.view(), dirty.du.view()));
    EXPECT_EQ(clean.dbias, dirty.dbias);
    for (int64_t row : {2, 3, 4}) {
      for (int64_t c = 0; c < 5; ++c) EXPECT_EQ(dirty.out.at(row, c), 0.0f);
      for (int64_t c = 0; c < 11; ++c) EXPECT_EQ(dirty.dq.at(row, c), 0.0f);
      EXPECT_EQ(dirty.lse.at(row, 0), -kInfinity);
    }
  }
}

TEST_P(RowAttentionPairs, Att18ABatchIsItsSentencesOneByOne) {
  RowCase batch(shape_of({4, 0, 2, 7}, {4, 3, 270, 7}, RowScore::kAdditive, 2, true, true)), alone(batch.shape);
  batch.run();
  for (size_t b = 0; b < 4; ++b) {
    RowAttention in = alone.attention();
    in.batch = {1, &alone.query_begin[b], &alone.shape.queries[b], &alone.key_begin[b], &alone.shape.keys[b]};
    row_attention_forward(in, alone.out.view(), alone.lse.view().data);
    row_attention_backward(in, alone.gradient());
  }
  EXPECT_TRUE(same_bits(batch.out.view(), alone.out.view()));
  EXPECT_TRUE(same_bits(batch.dq.view(), alone.dq.view()));
  EXPECT_TRUE(same_bits(batch.dk.view(), alone.dk.view()));
  EXPECT_TRUE(same_bits(batch.dv.view(), alone.dv.view()));
  EXPECT_EQ(batch.dbias, alone.dbias);
}

}  // namespace
}  // namespace jumok::kernels
