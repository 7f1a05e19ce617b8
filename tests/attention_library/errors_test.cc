// Problems that do not fit are refused with one clear line, before anything is read or written.
#include <gtest/gtest.h>
#include <jumok/attention.h>
#include <jumok/error.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace jumok::attention {
namespace {

struct Call {
  std::vector<float> memory = std::vector<float>(4096);
  std::vector<int64_t> one = {1, 1}, begin = {0, 1};
  Problem p;
  Result r;
  Gradient g;
  Run run;
  Call() {
    float* m = memory.data();
    p.q = dense(m, 2, 4, 3, 8);
    p.k = dense(m, 2, 2, 5, 8);
    p.v = dense(m, 2, 2, 5, 6);
    r.out = dense(m, 2, 4, 3, 6);
    r.lse = dense(m, 2, 4, 3, 1);
    g = {r.out, r.out, r.lse, dense(m, 2, 4, 3, 8), dense(m, 2, 2, 5, 8), dense(m, 2, 2, 5, 6)};
  }
};

std::string refusal(const std::function<void(Call&)>& change) {
  Call c;
  change(c);
  try {
    forward(c.p, c.r, c.run);
    backward(c.p, c.g, c.run);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(AttentionLibraryErrors, EachMisfitNamesWhatWasExpectedAndFound) {
  EXPECT_EQ(refusal([](Call&) {}), "accepted");
  EXPECT_EQ(refusal([](Call& c) { c.p.k.columns = 7; }), "attention: k: expected 8 columns (d_k, as in q), found 7");
  EXPECT_EQ(refusal([](Call& c) { c.p.v.rows = 4; }), "attention: v: expected 5 rows (S, as in k), found 4");
  EXPECT_EQ(refusal([](Call& c) { c.p.v.heads = 1; }), "attention: v: expected 2 heads (as in k), found 1");
  EXPECT_EQ(refusal([](Call& c) { c.p.v.batch = 1; }), "attention: v: expected 2 batch entries (as in k), found 1");
  EXPECT_EQ(refusal([](Call& c) { c.p.k.batch = c.p.v.batch = 3; }), "attention: k: expected 2 batch entries as in q, found 3");
  EXPECT_EQ(refusal([](Call& c) { c.p.q.heads = 3; }),
            "attention: expected a multiple of the 2 key/value heads of k as heads of q, found 3");
  EXPECT_EQ(refusal([](Call& c) { c.p.q.rows = -1; }), "attention: q has a negative size [2, 4, -1, 8]");
  EXPECT_EQ(refusal([](Call& c) { c.p.k.data = nullptr; }), "attention: k is null");
  EXPECT_EQ(refusal([](Call& c) { c.p.sentences = 3; }), "attention: sentences: expected 2 (the batch of the padded view), found 3");
  EXPECT_EQ(refusal([](Call& c) { c.p.rules.left = -2; }), "attention: window: expected sides from 0, or -1 for no limit, found -2 and -1");
  EXPECT_EQ(refusal([](Call& c) { c.p.rules.offset = int64_t{1} << 60; }),
            "attention: offset: expected less than 2^58, found 1152921504606846976");
  EXPECT_EQ(refusal([](Call& c) { c.p.rules.offset = 1, c.p.rules.offsets = c.one.data(); }),
            "attention: expected one of offset and offsets[], found both");
  EXPECT_EQ(refusal([](Call& c) { c.p.dropout.rate = 1; }), "attention: dropout: expected a rate in [0, 1), found 1");
  EXPECT_EQ(refusal([](Call& c) { c.p.scale = 1.0f / 0.0f; }), "attention: scale: expected a finite number, found inf");
  EXPECT_EQ(refusal([](Call& c) { c.run.threads = 0; }), "attention: threads: expected at least 1, found 0");
}

TEST(AttentionLibraryErrors, WhatIsWrittenHasMemoryOfItsOwnButSharedKeysAddUp) {
  EXPECT_EQ(refusal([](Call& c) { c.r.out.head_stride = 0; }),
            "attention: out: expected memory of their own for its heads, which are written, found a stride of 0");
  EXPECT_NE(refusal([](Call& c) { c.r.lse.row_stride = 0; }).find("lse: expected memory of their own for its rows"), std::string::npos);
  EXPECT_NE(refusal([](Call& c) { c.g.dk.head_stride = 0; }).find("dk: expected memory of their own for its heads"), std::string::npos);
  EXPECT_NE(refusal([](Call& c) { c.g.dq.batch_stride = 0; }).find("dq: expected memory of their own for its batch"), std::string::npos);
  EXPECT_EQ(refusal([](Call& c) { c.p.k.batch_stride = c.p.v.batch_stride = c.g.dk.batch_stride = c.g.dv.batch_stride = 0; }), "accepted");
}

TEST(AttentionLibraryErrors, SizesBeyondAnyMemoryAreRefused) {
  EXPECT_EQ(refusal([](Call& c) { c.p.q.batch = int64_t{1} << 62; }),
            "attention: q: expected fewer than 2^63 elements, found [4611686018427387904, 4, 3, 8]");
}

TEST(AttentionLibraryErrors, SentencesMustLieWithinTheirView) {
  EXPECT_EQ(refusal([](Call& c) {
              c.one = {1, 6}, c.p.keys.length = c.one.data();
            }),
            "attention: k: sentence 1 has 6 rows from row 0 on, of a view of 5 rows");
  EXPECT_EQ(refusal([](Call& c) {
              c.one = {-1, 1}, c.p.queries.length = c.one.data();
            }),
            "attention: q: sentence 0 has -1 rows from row 0 on, of a view of 3 rows");
  EXPECT_EQ(refusal([](Call& c) { c.p.keys.begin = c.one.data(); }),
            "attention: k: expected 1 batch entry (rows of packed sentences), found 2");
  EXPECT_EQ(refusal([](Call& c) { c.p.k.batch = c.p.v.batch = 1, c.p.keys.begin = c.one.data(); }),
            "attention: k: packed sentences have begin[], but no length[]");
}

// Numbers whose sum is no number of 64 bits are refused like others.
TEST(AttentionLibraryErrors, SentencesThatBeginAtTheEndOfAllNumbersAreRefused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  const auto packed = [](int64_t begin, int64_t length) {
    return refusal([=](Call& c) {
      c.begin = {0, begin}, c.one = {1, length};
      c.p.k.batch = c.p.v.batch = 1;
      c.p.keys = {c.begin.data(), c.one.data()};
    });
  };
  EXPECT_EQ(packed(kMost, 1), "attention: k: sentence 1 has 1 rows from row 9223372036854775807 on, of a view of 5 rows");
  EXPECT_EQ(packed(kMost, kMost),
            "attention: k: sentence 1 has 9223372036854775807 rows from row 9223372036854775807 on, of a view of 5 rows");
  EXPECT_NE(packed(kLeast, -1).find("sentence 1 has -1 rows"), std::string::npos);
  EXPECT_NE(packed(0, kLeast).find("sentence 1 has -9223372036854775808 rows"), std::string::npos);
}

// Nothing else says how many there are: without the number nothing would be computed, and nothing said.
TEST(AttentionLibraryErrors, TheNumberOfPackedSentencesMustBeGiven) {
  const auto packed = [](int64_t sentences) {
    return refusal([=](Call& c) {
      c.p.q.batch = c.p.k.batch = c.p.v.batch = c.r.out.batch = c.r.lse.batch = 1;
      c.g.out.batch = c.g.dout.batch = c.g.lse.batch = c.g.dq.batch = c.g.dk.batch = c.g.dv.batch = 1;
      c.p.queries = c.p.keys = {c.begin.data(), c.one.data()};
      c.p.sentences = sentences;
    });
  };
  EXPECT_EQ(packed(2), "accepted");
  EXPECT_EQ(packed(0), "attention: sentences: expected their number, as q and k are packed, found 0");
}

TEST(AttentionLibraryErrors, WorkspacesAreOfOneThreadOrMore) {
  const Call c;
  EXPECT_THROW(forward_workspace(c.p, -1), Error);
  EXPECT_THROW(backward_workspace(c.p, 0), Error);
  EXPECT_GT(backward_workspace(c.p, 2), 0u);
}

TEST(AttentionLibraryErrors, DropoutFactorsPastALengthAreZero) {
  Call c;
  c.p.queries.length = c.one.data();
  std::vector<float> factors(2 * 4 * 3 * 5, 7.0f);
  dropout_factors(c.p, dense(factors.data(), 2, 4, 3, 5));
  for (size_t i = 0; i < factors.size(); ++i) EXPECT_EQ(factors[i], i / 5 % 3 == 0 ? 1.0f : 0.0f) << i;
}

TEST(AttentionLibraryErrors, ResultsMustHaveTheShapesOfTheirInputs) {
  EXPECT_EQ(refusal([](Call& c) { c.r.out.columns = 8; }), "attention: out: expected 6 columns, found 8");
  EXPECT_EQ(refusal([](Call& c) { c.r.lse.rows = 2; }), "attention: lse: expected 3 rows (as in q), found 2");
  EXPECT_EQ(refusal([](Call& c) { c.r.out.data = nullptr; }), "attention: out is null");
  EXPECT_EQ(refusal([](Call& c) { c.g.dk.heads = 4; }), "attention: dk: expected 2 heads (as in k), found 4");
  EXPECT_EQ(refusal([](Call& c) { c.g.dq.batch = 1; }), "attention: dq: expected 2 batch entries (as in q), found 1");
  EXPECT_EQ(refusal([](Call& c) { c.g.dv.data = nullptr; }), "attention: dv is null");
  Call c;
  EXPECT_THROW(weights(c.p, dense(c.memory.data(), 2, 2, 3, 5)), Error);
  EXPECT_THROW(dropout_factors(c.p, dense(c.memory.data(), 2, 4, 3, 6)), Error);
}

}  // namespace
}  // namespace jumok::attention
