// What must hold of attention exactly: faults that others met, and the laws of rows, steps and blocked pairs. ATT-n: the case's name.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>

#include "attention_case.h"

namespace jumok::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class AttentionLaws : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionLaws, ::testing::ValuesIn(supported_targets()), target_name);

// One sentence, one head, all scores equal (q = 0), values 1, 2, 3, …
AttentionCase equal_scores(int32_t queries, int32_t keys, bool causal, float rate = 0) {
  AttentionCase a({{queries}, {keys}, 1, 1, 1, causal, rate});
  for (int32_t i = 0; i < queries; ++i) a.q.at(1 + i, 0) = 0;
  for (int32_t j = 0; j < keys; ++j) a.v.at(1 + j, 0) = static_cast<float>(j + 1);
  return a;
}

// The queries are the newest positions.
TEST_P(AttentionLaws, Att05CausalRuleAlignsToTheNewestPosition) {
  AttentionCase a = equal_scores(2, 6, true);
  a.forward();
  EXPECT_FLOAT_EQ(a.out.at(1, 0), 3.0f);
  EXPECT_FLOAT_EQ(a.out.at(2, 0), 3.5f);
}

// More queries than keys under the causal rule: the first rows see nothing, and what they hold reaches nothing.
TEST_P(AttentionLaws, Att01Att03FullyBlockedRowsGiveZerosAndHarmNobody) {
  AttentionCase clean({{70, 5}, {66, 5}, 2, 12, 12, true}), dirty({{70, 5}, {66, 5}, 2, 12, 12, true});
  for (int64_t i = 1; i < 5; ++i) {  // queries 0 … 3 of sentence 0
    for (int64_t c = 0; c < 24; ++c) dirty.q.at(i, c) = dirty.dout.at(i, c) = AttentionCase::kNaN;
  }
  clean.run();
  dirty.run();
  for (int64_t i = 1; i < 5; ++i) {
    for (int64_t c = 0; c < 24; ++c) {
      EXPECT_EQ(dirty.out.at(i, c), 0.0f);
      EXPECT_EQ(dirty.dq.at(i, c), 0.0f);
    }
    EXPECT_EQ(dirty.lse[static_cast<size_t>(i) * 2], -kInfinity);
  }
  for (size_t b = 0; b < 2; ++b) {
    EXPECT_TRUE(same_bits(dirty.query_rows(dirty.out, b), clean.query_rows(clean.out, b)));
    EXPECT_TRUE(same_bits(dirty.query_rows(dirty.dq, b), clean.query_rows(clean.dq, b)));
    EXPECT_TRUE(same_bits(dirty.key_rows(dirty.dk, b), clean.key_rows(clean.dk, b)));
    EXPECT_TRUE(same_bits(dirty.key_rows(dirty.dv, b), clean.key_rows(clean.dv, b)));
  }
}

// Only the first key is allowed, the other holds NaN, then an infinity.
TEST_P(AttentionLaws, Att02BlockedContentNeverReachesTheResult) {
  for (float poison : {AttentionCase::kNaN, kInfinity, 1e30f}) {
    AttentionCase a({{2}, {2}, 1, 1, 1, true});
    a.k.at(1, 0) = 1;
    a.v.at(1, 0) = 3;
    a.k.at(2, 0) = poison;
    a.v.at(2, 0) = poison;
    a.forward();
    EXPECT_EQ(a.out.at(1, 0), 3.0f);
    std::vector<float> weights(4);
    attention_weights(a.attention(), 0, 0, weights.data());
    EXPECT_EQ(weights[0], 1.0f);
    EXPECT_EQ(weights[1], 0.0f);
  }
}

// The same at every place of a tile: rows before the poisoned position keep their bits, in the output and in dq.
TEST_P(AttentionLaws, PoisonInTheFutureChangesNoBitOfThePast) {
  const AttentionShape shape{{140}, {150}, 2, 10, 20, true, 0.3f};
  AttentionCase clean(shape);
  clean.run();
  for (int64_t key : {11, 12, 63, 64, 65, 129, 149}) {
    for (float poison : {AttentionCase::kNaN, kInfinity, 1e30f}) {
      AttentionCase dirty(shape);
      for (int64_t c = 0; c < 20; ++c) dirty.k.at(1 + key, c) = poison;
      for (int64_t c = 0; c < 40; ++c) dirty.v.at(1 + key, c) = poison;
      dirty.run();
      const int64_t safe = key - 10;  // query i sees keys up to i + 10
      EXPECT_TRUE(same_bits(AttentionCase::rows(dirty.out, 1, safe), AttentionCase::rows(clean.out, 1, safe))) << key;
      EXPECT_TRUE(same_bits(AttentionCase::rows(dirty.dq, 1, safe), AttentionCase::rows(clean.dq, 1, safe))) << key;
    }
  }
}

// A query adds to the gradients of the keys it sees and of no others: query i holds NaN, keys beyond i keep their bits.
TEST_P(AttentionLaws, ABrokenQueryReachesOnlyTheKeysItSees) {
  const AttentionShape shape{{140}, {140}, 1, 12, 12, true};
  AttentionCase clean(shape);
  clean.run();
  for (int64_t query : {0, 5, 63, 64, 100}) {
    AttentionCase dirty(shape);
    for (int64_t c = 0; c < 12; ++c) dirty.q.at(1 + query, c) = dirty.dout.at(1 + query, c) = AttentionCase::kNaN;
    dirty.run();
    const int64_t rest = 139 - query;
    EXPECT_TRUE(same_bits(AttentionCase::rows(dirty.dk, 2 + query, rest), AttentionCase::rows(clean.dk, 2 + query, rest))) << query;
    EXPECT_TRUE(same_bits(AttentionCase::rows(dirty.dv, 2 + query, rest), AttentionCase::rows(clean.dv, 2 + query, rest))) << query;
    EXPECT_TRUE(std::isnan(dirty.dk.at(1 + query, 0)));
  }
}

// Neither dropout at rate 0 nor asking for weights loses the causal rule.
TEST_P(AttentionLaws, Att08CausalRuleStaysWithWeightsAndDropout) {
  AttentionCase a = equal_scores(3, 3, true);
  a.forward();
  std::vector<float> weights(9);
  attention_weights(a.attention(), 0, 0, weights.data());
  const float expected[9] = {1, 0, 0, 0.5f, 0.5f, 0, 1 / 3.0f, 1 / 3.0f, 1 / 3.0f};
  for (int i = 0; i < 9; ++i) EXPECT_FLOAT_EQ(weights[static_cast<size_t>(i)], expected[i]);
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(a.out.at(1 + i, 0), 1 + static_cast<float>(i) / 2);
  AttentionCase inference = equal_scores(3, 3, true, 0.3f);
  Attention in = inference.attention();
  in.dropout.row_keys = nullptr;
  attention_forward(in, inference.out.view(), nullptr);
  EXPECT_TRUE(same_bits(inference.query_rows(inference.out, 0), a.query_rows(a.out, 0)));
}

// One key.
TEST_P(AttentionLaws, Att09Att15OneKeyHasWeightOneBeforeDropout) {
  AttentionCase a({{400}, {1}, 1, 3, 1, false, 0.25f});
  a.forward();
  std::vector<float> weights(400);
  attention_weights(a.attention(), 0, 0, weights.data());
  int dropped = 0;
  for (int i = 0; i < 400; ++i) {
    EXPECT_EQ(weights[static_cast<size_t>(i)], 1.0f);
    const float factor = a.out.at(1 + i, 0) / a.v.at(1, 0);
    EXPECT_NEAR(factor, factor == 0 ? 0 : 1 / 0.75, 1e-6);
    dropped += factor == 0;
  }
  EXPECT_NEAR(dropped, 100, 45);  // five standard deviations
}

// E[dropout(α)] = α: the mean over many masks is the attention without dropout.
TEST_P(AttentionLaws, DropoutKeepsTheExpectation) {
  AttentionCase a({{20000}, {5}, 1, 2, 1, false, 0.3f});
  for (int64_t i = 2; i <= 20000; ++i) {
    for (int64_t c = 0; c < 2; ++c) a.q.at(i, c) = a.q.at(1, c);
  }
  a.forward();
  double mean = 0, square = 0;
  for (int64_t i = 1; i <= 20000; ++i) mean += a.out.at(i, 0) / 20000, square += a.out.at(i, 0) * a.out.at(i, 0) / 20000;
  a.shape.rate = 0;
  a.forward();
  EXPECT_NEAR(mean, a.out.at(1, 0), 5 * std::sqrt((square - mean * mean) / 20000));
}

// The scale is applied once, whatever the widths.
TEST_P(AttentionLaws, Att10Att25TheScaleIsAppliedOnce) {
  for (auto [width, q, expected] : {std::tuple{4, 2.0f, 0.982014f}, {9, 1.0f, 0.952574f}}) {
    AttentionCase a({{1}, {2}, 1, width, 1, false});
    for (int64_t c = 0; c < width; ++c) {
      a.q.at(1, c) = q;
      a.k.at(1, c) = 1;
      a.k.at(2, c) = 0;
    }
    a.v.at(1, 0) = 1;
    a.v.at(2, 0) = 0;
    a.forward();
    EXPECT_NEAR(a.out.at(1, 0), expected, 1e-6);
  }
}

// A batch, in which some sentences are empty, is its sentences one by one, bit for bit, forward and backward.
TEST_P(AttentionLaws, Att18Att19Att23ABatchIsItsSentencesOneByOne) {
  for (bool causal : {false, true}) {
    const AttentionShape shape{{4, 0, 2, 70, 3, 0}, {4, 0, 130, 70, 0, 6}, 2, 12, 20, causal, 0.3f};
    AttentionCase batch(shape);
    batch.run();
    for (size_t b = 0; b < shape.queries.size(); ++b) {
      AttentionCase alone(shape);
      Attention in = alone.attention();
      in.batch = {1, &alone.query_begin[b], &alone.shape.queries[b], &alone.key_begin[b], &alone.shape.keys[b]};
      attention_forward(in, alone.out.view(), alone.lse.data());
      attention_backward(in, alone.gradient());
      EXPECT_TRUE(same_bits(batch.query_rows(batch.out, b), alone.query_rows(alone.out, b)));
      EXPECT_TRUE(same_bits(batch.query_rows(batch.dq, b), alone.query_rows(alone.dq, b)));
      EXPECT_TRUE(same_bits(batch.key_rows(batch.dk, b), alone.key_rows(alone.dk, b)));
      EXPECT_TRUE(same_bits(batch.key_rows(batch.dv, b), alone.key_rows(alone.dv, b)));
    }
    for (int64_t c = 0; c < 40; ++c) EXPECT_EQ(batch.out.at(batch.query_begin[4], c), 0.0f);   // queries without keys
    for (int64_t c = 0; c < 24; ++c) EXPECT_EQ(batch.dk.at(batch.key_begin[5] + 5, c), 0.0f);  // keys without queries
  }
}

// Recording for a backward (lse) or not, the output is the same.
TEST_P(AttentionLaws, Att23OutputDoesNotDependOnRecording) {
  AttentionCase recorded({{5, 2}, {5, 2}, 2, 9, 9, false}), plain({{5, 2}, {5, 2}, 2, 9, 9, false});
  recorded.forward();
  attention_forward(plain.attention(), plain.out.view(), nullptr);
  EXPECT_TRUE(same_bits(recorded.out.view(), plain.out.view()));
}

// A step with a cache is row i of the whole pass, bit for bit, and so is a piece of several rows.
TEST_P(AttentionLaws, AStepIsTheRowOfTheWholePass) {
  for (int width : {8, 20, 64, 130}) {
    AttentionCase whole({{300}, {300}, 2, width, width, true});
    whole.forward();
    for (int32_t piece : {1, 2, 3, 5, 7, 100}) {
      AttentionCase step({{300}, {300}, 2, width, width, true});
      Attention in = step.attention();
      for (int32_t i = 0; i < 300; i += piece) {
        const int32_t queries = std::min(piece, 300 - i), query_begin = 1 + i, keys = i + queries;
        in.batch = {1, &query_begin, &queries, &step.key_begin[0], &keys};
        attention_forward(in, step.out.view(), nullptr);
      }
      EXPECT_TRUE(same_bits(step.query_rows(step.out, 0), whole.query_rows(whole.out, 0))) << width << " by " << piece;
    }
  }
}

// Elements beyond 2^31 of a matrix: rows a GiB apart, in memory that is only reserved.
TEST_P(AttentionLaws, RowsBeyondTwoToThe31ElementsAreFound) {
  const int64_t stride = int64_t{1} << 28, rows = 12;
  const size_t bytes = static_cast<size_t>(stride * rows) * sizeof(float);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "12 GiB of address space are not to be had";
  AttentionCase near({{3}, {3}, 1, 4, 4, false});
  const Rows far{static_cast<float*>(memory), rows, 16, stride};  // columns: q, k, v, out
  const int32_t begin = 9, length = 3;                            // the first element is number 9 · 2^28 > 2^31
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 4; ++c) {
      far.row(begin + r)[c] = near.q.at(1 + r, c);
      far.row(begin + r)[4 + c] = near.k.at(1 + r, c);
      far.row(begin + r)[8 + c] = near.v.at(1 + r, c);
    }
  }
  near.forward();
  Attention in = near.attention();
  in.q = {far.data, rows, 4, stride};
  in.k = {far.data + 4, rows, 4, stride};
  in.v = {far.data + 8, rows, 4, stride};
  in.batch = {1, &begin, &length, &begin, &length};
  attention_forward(in, {far.data + 12, rows, 4, stride}, nullptr);
  EXPECT_TRUE(same_bits({far.row(begin) + 12, 3, 4, stride}, near.query_rows(near.out, 0)));
  munmap(memory, bytes);
}

}  // namespace
}  // namespace jumok::kernels
