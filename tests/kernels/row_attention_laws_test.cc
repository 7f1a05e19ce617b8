// What must hold of the RNN attentions exactly: faults that others met, and the laws of rows, windows and blocked keys. ATT-n: the case's
// name.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "row_attention_case.h"

namespace jumok::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr RowScore kScores[] = {RowScore::kDot, RowScore::kAdditive, RowScore::kGiven};

class RowAttentionLaws : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, RowAttentionLaws, ::testing::ValuesIn(supported_targets()), target_name);

void set_window(RowCase& a, int32_t query, int32_t first, int32_t last) {
  a.first[static_cast<size_t>(a.query_begin[0] + query)] = first;
  a.last[static_cast<size_t>(a.query_begin[0] + query)] = last;
}

// One sentence, equal scores (q = 0, u = 0), values 1, 2, 3, …
RowCase equal_scores(int32_t queries, int32_t keys, RowScore score, int window = -1, bool gaussian = false) {
  RowCase a({{queries}, {keys}, score, 1, score == RowScore::kGiven ? keys : 2, 1, window, gaussian});
  a.u.fill(0);
  for (int32_t i = 1; i <= queries; ++i) {
    for (int64_t c = 0; c < a.q.view().columns; ++c) a.q.at(i, c) = 0;
  }
  for (int32_t j = 0; j < keys; ++j) a.v.at(1 + j, 0) = static_cast<float>(j + 1);
  return a;
}

// The softmax of the additive score stops at the sentence's length.
TEST_P(RowAttentionLaws, Att11AdditiveSoftmaxLeavesOutWhatLiesBehindTheSentence) {
  for (const float behind : {0.0f, 1e30f, RowCase::kNaN}) {
    RowCase a = equal_scores(1, 5, RowScore::kAdditive);
    a.shape.keys = {2};
    for (int64_t j = 0; j < 5; ++j) a.v.at(1 + j, 0) = j < 2 ? static_cast<float>(10 * (j + 1)) : behind;
    a.forward();
    EXPECT_EQ(a.weights(0, 0), (std::vector<float>{0.5f, 0.5f}));
    EXPECT_EQ(a.out.at(1, 0), 15.0f);
  }
}

// [centre - 1, centre + 1] cut to the sentence.
TEST_P(RowAttentionLaws, Att14AWindowHasBothItsEnds) {
  for (const RowScore score : kScores) {
    RowCase a = equal_scores(3, 5, score, 1);
    set_window(a, 0, 1, 4);
    set_window(a, 1, -1, 2);
    set_window(a, 2, 3, 6);
    a.forward();
    EXPECT_FLOAT_EQ(a.out.at(1, 0), 3.0f);
    EXPECT_FLOAT_EQ(a.out.at(2, 0), 1.5f);
    EXPECT_FLOAT_EQ(a.out.at(3, 0), 4.5f);
    const std::vector<float> weights = a.weights(0, 0);
    const float expected[15] = {0, 1 / 3.0f, 1 / 3.0f, 1 / 3.0f, 0, 0.5f, 0.5f, 0, 0, 0, 0, 0, 0, 0.5f, 0.5f};
    for (size_t n = 0; n < 15; ++n) EXPECT_FLOAT_EQ(weights[n], expected[n]) << n;
  }
}

// One key, a window of ten to each side, Luong's σ = D/2 and a centre half a position off.
TEST_P(RowAttentionLaws, Att15AWindowWiderThanTheSentence) {
  RowCase a = equal_scores(1, 1, RowScore::kAdditive, 10, true);
  set_window(a, 0, -10, 11);
  a.centre.at(1, 0) = 0.5f;
  a.sigma = 5;
  a.forward();
  EXPECT_NEAR(a.weights(0, 0)[0], 0.995012, 1e-6);
  EXPECT_NEAR(a.out.at(1, 0), 0.995012, 1e-6);
  EXPECT_EQ(a.lse.at(1, 0), 0.0f);
}

void poison(Matrix& m, int64_t row, float value) {
  for (int64_t c = 0; m.view().columns > c; ++c) m.at(row, c) = value;
}

// Eight keys, a window of 1 … 5: what stands at 0, 6 and 7 changes no bit, forward and backward, and gets no gradient.
TEST_P(RowAttentionLaws, Att02Att16KeysOutsideTheWindowNeverReachTheResult) {
  for (const RowScore score : kScores) {
    const RowShape shape{{1}, {8}, score, 2, 11, 5, 2, true, 0.3f};
    RowCase clean(shape);
    set_window(clean, 0, 1, 6);
    clean.run();
    for (const float value : {RowCase::kNaN, kInfinity, 1e30f}) {
      RowCase dirty(shape);
      set_window(dirty, 0, 1, 6);
      for (const int64_t key : {0, 6, 7}) {
        poison(dirty.k, 1 + key, value);
        poison(dirty.v, 1 + key, value);
        if (score == RowScore::kGiven) dirty.q.at(1, key) = dirty.q.at(1, 11 + key) = value;
      }
      dirty.run();
      EXPECT_TRUE(same_bits(dirty.query_rows(dirty.out, 0), clean.query_rows(clean.out, 0)));
      EXPECT_TRUE(same_bits(dirty.query_rows(dirty.dq, 0), clean.query_rows(clean.dq, 0)));
      EXPECT_TRUE(same_bits(dirty.key_rows(dirty.dk, 0), clean.key_rows(clean.dk, 0)));
      EXPECT_TRUE(same_bits(dirty.key_rows(dirty.dv, 0), clean.key_rows(clean.dv, 0)));
      EXPECT_TRUE(same_bits(dirty.du.view(), clean.du.view()));
      EXPECT_TRUE(same_bits(dirty.query_rows(dirty.dcentre, 0), clean.query_rows(clean.dcentre, 0)));
      for (const int64_t key : {0, 6, 7}) EXPECT_EQ(dirty.dv.at(1 + key, 0), 0.0f);
      for (const int head : {0, 1}) EXPECT_EQ(dirty.weights(0, head), clean.weights(0, head));
    }
  }
}

// Queries that see nothing, and hold what they like: zeros, and no harm to the others.
TEST_P(RowAttentionLaws, Att01Att03FullyBlockedRowsGiveZerosAndHarmNobody) {
  for (const RowScore score : kScores) {
    const RowShape shape{{6}, {9}, score, 2, 9, 5, 3, true};
    RowCase clean(shape), dirty(shape);
    for (RowCase* a : {&clean, &dirty}) {
      for (int32_t i = 0; i < 6; ++i) set_window(*a, i, 2, 8);
      set_window(*a, 1, 4, 4);
      set_window(*a, 3, 7, 3);
      set_window(*a, 4, 9, 30);
      set_window(*a, 5, -4, 0);
    }
    for (const int64_t i : {1, 3, 4, 5}) {
      poison(dirty.q, 1 + i, RowCase::kNaN);
      poison(dirty.dout, 1 + i, RowCase::kNaN);
      dirty.centre.at(1 + i, 0) = RowCase::kNaN;
    }
    clean.run();
    dirty.run();
    for (const int64_t i : {1, 3, 4, 5}) {
      for (int64_t c = 0; c < 10; ++c) EXPECT_EQ(dirty.out.at(1 + i, c), 0.0f);
      for (int64_t c = 0; c < 18; ++c) EXPECT_EQ(dirty.dq.at(1 + i, c), 0.0f);
      EXPECT_EQ(dirty.dcentre.at(1 + i, 0), 0.0f);
      EXPECT_EQ(dirty.lse.at(1 + i, 0), -kInfinity);
    }
    EXPECT_TRUE(same_bits(dirty.query_rows(dirty.out, 0), clean.query_rows(clean.out, 0)));
    EXPECT_TRUE(same_bits(dirty.key_rows(dirty.dk, 0), clean.key_rows(clean.dk, 0)));
    EXPECT_TRUE(same_bits(dirty.key_rows(dirty.dv, 0), clean.key_rows(clean.dv, 0)));
    EXPECT_TRUE(same_bits(dirty.du.view(), clean.du.view()));
    for (const float w : clean.weights(0, 1)) EXPECT_FALSE(std::isnan(w));
  }
}

// A broken query reaches the gradients of the keys it sees and of no others.
TEST_P(RowAttentionLaws, ABrokenQueryReachesOnlyTheKeysItSees) {
  RowCase clean({{3}, {12}, RowScore::kAdditive, 1, 9, 5, 2}), dirty(clean.shape);
  for (RowCase* a : {&clean, &dirty}) {
    set_window(*a, 0, 0, 12);
    set_window(*a, 1, 5, 8);
    set_window(*a, 2, 0, 12);
  }
  poison(dirty.q, 2, RowCase::kNaN);
  poison(dirty.dout, 2, RowCase::kNaN);
  clean.run();
  dirty.run();
  for (int64_t j = 0; j < 12; ++j) {
    const bool seen = j >= 5 && j < 8;
    EXPECT_EQ(std::isnan(dirty.dk.at(1 + j, 3)), seen) << j;
    EXPECT_EQ(!same_bits(RowCase::rows(dirty.dk, 1 + j, 1), RowCase::rows(clean.dk, 1 + j, 1)), seen) << j;
    EXPECT_EQ(!same_bits(RowCase::rows(dirty.dv, 1 + j, 1), RowCase::rows(clean.dv, 1 + j, 1)), seen) << j;
  }
}

// A window over the whole sentence, however far it reaches beyond, is no window, bit for bit.
TEST_P(RowAttentionLaws, Att15AWindowOverTheWholeSentenceIsGlobal) {
  for (const RowScore score : kScores) {
    RowShape shape{{7}, {300}, score, 2, 19, 5, -1};
    RowCase global(shape);
    global.run();
    shape.window = 0;
    RowCase local(shape);
    for (int32_t i = 0; i < 7; ++i) set_window(local, i, -i, 300 + 1000 * i);
    local.run();
    EXPECT_TRUE(same_bits(local.query_rows(local.out, 0), global.query_rows(global.out, 0)));
    EXPECT_TRUE(same_bits(local.query_rows(local.dq, 0), global.query_rows(global.dq, 0)));
    EXPECT_TRUE(same_bits(local.key_rows(local.dk, 0), global.key_rows(global.dk, 0)));
    EXPECT_TRUE(same_bits(local.key_rows(local.dv, 0), global.key_rows(global.dv, 0)));
  }
}

// A batch, in which some sentences are empty, is its sentences one by one, bit for bit, forward and backward.
TEST_P(RowAttentionLaws, Att18Att19ABatchIsItsSentencesOneByOne) {
  for (const RowScore score : kScores) {
    for (const int window : {-1, 3}) {
      const RowShape shape{{4, 0, 2, 7, 3, 0}, {4, 0, 270, 7, 0, 6}, score, 2, 13, 20, window, true, 0.3f};
      RowCase batch(shape), alone(shape);
      batch.run();
      for (size_t b = 0; b < shape.queries.size(); ++b) {
        RowAttention in = alone.attention();
        in.batch = {1, &alone.query_begin[b], &alone.shape.queries[b], &alone.key_begin[b], &alone.shape.keys[b]};
        row_attention_forward(in, alone.out.view(), alone.lse.view().data);
        row_attention_backward(in, alone.gradient());
      }
      EXPECT_TRUE(same_bits(batch.out.view(), alone.out.view()));
      EXPECT_TRUE(same_bits(batch.dq.view(), alone.dq.view()));
      EXPECT_TRUE(same_bits(batch.dk.view(), alone.dk.view()));
      EXPECT_TRUE(same_bits(batch.dv.view(), alone.dv.view()));
      EXPECT_TRUE(same_bits(batch.dcentre.view(), alone.dcentre.view()));
      for (int64_t c = 0; c < 40; ++c) EXPECT_EQ(batch.out.at(batch.query_begin[4], c), 0.0f);   // queries without keys
      for (int64_t c = 0; c < 40; ++c) EXPECT_EQ(batch.dv.at(batch.key_begin[5] + 5, c), 0.0f);  // keys without queries
    }
  }
}

// A decoder's steps, one query a call, are the call for all queries, bit for bit: outputs, and gradients of queries, keys and values.
TEST_P(RowAttentionLaws, StepsAreTheWholePass) {
  for (const RowScore score : kScores) {
    for (const int width : {5, 16, 67}) {
      const RowShape shape{{11}, {30}, score, 2, width, width, -1, true, 0.2f};
      RowCase whole(shape), steps(shape);
      whole.run();
      for (int32_t i = 0; i < 11; ++i) {
        const int32_t row = 1 + i, one = 1;
        RowAttention in = steps.attention();
        in.batch = {1, &row, &one, &steps.key_begin[0], &steps.shape.keys[0]};
        row_attention_forward(in, steps.out.view(), steps.lse.view().data);
        row_attention_backward(in, steps.gradient());
      }
      EXPECT_TRUE(same_bits(steps.out.view(), whole.out.view()));
      EXPECT_TRUE(same_bits(steps.dq.view(), whole.dq.view()));
      EXPECT_TRUE(same_bits(steps.dk.view(), whole.dk.view()));
      EXPECT_TRUE(same_bits(steps.dv.view(), whole.dv.view()));
      EXPECT_TRUE(same_bits(steps.dcentre.view(), whole.dcentre.view()));
    }
  }
}

// Recording for a backward (lse) or not, the output is the same.
TEST_P(RowAttentionLaws, Att23OutputDoesNotDependOnRecording) {
  RowCase recorded({{5, 2}, {5, 2}, RowScore::kAdditive, 2, 9, 9}), plain(recorded.shape);
  recorded.forward();
  row_attention_forward(plain.attention(), plain.out.view(), nullptr);
  EXPECT_TRUE(same_bits(recorded.out.view(), plain.out.view()));
}

// Weights are those before dropout.
TEST_P(RowAttentionLaws, Att09OneKeyHasWeightOneBeforeDropout) {
  RowCase a({{400}, {1}, RowScore::kAdditive, 1, 3, 1, -1, false, 0.25f});
  a.forward();
  int dropped = 0;
  const std::vector<float> weights = a.weights(0, 0);
  for (int i = 0; i < 400; ++i) {
    EXPECT_EQ(weights[static_cast<size_t>(i)], 1.0f);
    const float factor = a.out.at(1 + i, 0) / a.v.at(1, 0);
    EXPECT_NEAR(factor, factor == 0 ? 0 : 1 / 0.75, 1e-6);
    dropped += factor == 0;
  }
  EXPECT_NEAR(dropped, 100, 45);  // five standard deviations
}

// The heads' weights one by one.
TEST_P(RowAttentionLaws, Att21EveryHeadHasItsOwnWeights) {
  RowCase a({{1}, {2}, RowScore::kGiven, 2, 2, 1});
  a.q.at(1, 0) = a.q.at(1, 3) = 200;
  a.q.at(1, 1) = a.q.at(1, 2) = 0;
  EXPECT_EQ(a.weights(0, 0), (std::vector<float>{1, 0}));
  EXPECT_EQ(a.weights(0, 1), (std::vector<float>{0, 1}));
}

// Luong's location score: positions beyond its rows are blocked, whatever stands there.
TEST_P(RowAttentionLaws, GivenScoresBlockPositionsBeyondTheirNumber) {
  RowCase a({{1}, {6}, RowScore::kGiven, 1, 4, 3}), b({{1}, {4}, RowScore::kGiven, 1, 4, 3});
  poison(a.v, 5, RowCase::kNaN);
  poison(a.v, 6, kInfinity);
  a.run();
  b.run();
  EXPECT_TRUE(same_bits(a.query_rows(a.out, 0), b.query_rows(b.out, 0)));
  EXPECT_TRUE(same_bits(a.query_rows(a.dq, 0), b.query_rows(b.dq, 0)));
  EXPECT_EQ(a.dv.at(6, 0), 0.0f);
  const std::vector<float> weights = a.weights(0, 0);
  EXPECT_EQ(weights[4], 0.0f);
  EXPECT_EQ(weights[5], 0.0f);
}

// An allowed NaN shows; scores that are all -inf count as nothing allowed; a huge score takes everything.
TEST_P(RowAttentionLaws, ScoresAtTheEdgesOfTheirRange) {
  RowCase a({{4}, {300}, RowScore::kGiven, 1, 300, 1, -1, false});
  for (int64_t j = 0; j < 300; ++j)
    a.q.at(1, j) = -kInfinity, a.q.at(2, j) = j == 299 ? 3e38f : -3e38f, a.q.at(3, j) = j < 256 ? -kInfinity : 1;
  a.q.at(4, 280) = RowCase::kNaN;
  a.run();
  EXPECT_EQ(a.out.at(1, 0), 0.0f);
  EXPECT_EQ(a.dq.at(1, 5), 0.0f);
  EXPECT_EQ(a.lse.at(1, 0), -kInfinity);
  EXPECT_EQ(a.out.at(2, 0), a.v.at(300, 0));
  float mean = 0;
  for (int64_t j = 256; j < 300; ++j) mean += a.v.at(1 + j, 0) / 44;
  EXPECT_NEAR(a.out.at(3, 0), mean, 1e-6);
  EXPECT_TRUE(std::isnan(a.out.at(4, 0)));
  EXPECT_TRUE(std::isnan(a.lse.at(4, 0)));
}

// Gradients nobody asks for are not written, and the others do not notice.
TEST_P(RowAttentionLaws, GradientsNobodyAsksForAreLeftOut) {
  for (const RowScore score : kScores) {
    RowCase all({{5}, {9}, score, 2, 11, 5, 3, true}), some(all.shape);
    all.run();
    some.forward();
    for (int left_out = 0; left_out < 5; ++left_out) {
      some.clear_gradients();
      RowAttentionGradient g = some.gradient();
      if (left_out == 0) g.dq = {};
      if (left_out == 1) g.dk = {};
      if (left_out == 2) g.dv = {};
      if (left_out == 3) g.du = nullptr;
      if (left_out == 4) g.dcentre = nullptr;
      row_attention_backward(some.attention(), g);
      EXPECT_TRUE(left_out == 0 || same_bits(some.query_rows(some.dq, 0), all.query_rows(all.dq, 0)));
      EXPECT_TRUE(left_out == 1 || same_bits(some.key_rows(some.dk, 0), all.key_rows(all.dk, 0)));
      EXPECT_TRUE(left_out == 2 || same_bits(some.key_rows(some.dv, 0), all.key_rows(all.dv, 0)));
      EXPECT_TRUE(left_out == 3 || same_bits(some.du.view(), all.du.view()));
      EXPECT_TRUE(left_out == 4 || same_bits(some.query_rows(some.dcentre, 0), all.query_rows(all.dcentre, 0)));
    }
  }
}

// Elements beyond 2^31 of a matrix: rows a GiB apart, in memory that is only reserved.
TEST_P(RowAttentionLaws, RowsBeyondTwoToThe31ElementsAreFound) {
  const int64_t stride = int64_t{1} << 28, rows = 12;
  const size_t bytes = static_cast<size_t>(stride * rows) * sizeof(float);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "12 GiB of address space are not to be had";
  RowCase near({{3}, {3}, RowScore::kAdditive});
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
  RowAttention in = near.attention();
  in.q = {far.data, rows, 4, stride};
  in.k = {far.data + 4, rows, 4, stride};
  in.v = {far.data + 8, rows, 4, stride};
  in.batch = {1, &begin, &length, &begin, &length};
  row_attention_forward(in, {far.data + 12, rows, 4, stride}, nullptr);
  EXPECT_TRUE(same_bits({far.row(begin) + 12, 3, 4, stride}, near.query_rows(near.out, 0)));
  munmap(memory, bytes);
}

}  // namespace
}  // namespace jumok::kernels
