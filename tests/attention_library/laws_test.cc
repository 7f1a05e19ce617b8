// What must hold of the public attention exactly: blocked content, bits, sharing, broadcasts, far strides, errors.
#include <jumok/error.h>
#include <sys/mman.h>

#include "definition.h"
#include "kernels/grid.h"

namespace jumok::attention {
namespace {

class AttentionLibraryLaws : public kernels::EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionLibraryLaws, ::testing::ValuesIn(kernels::supported_targets()), kernels::target_name);

bool same_row(const Block& x, const Block& y, int64_t b, int64_t h, int64_t r) {
  return std::memcmp(&x.at(b, h, r, 0), &y.at(b, h, r, 0), static_cast<size_t>(x.view.columns) * sizeof(float)) == 0;
}

// A mask with a random hole pattern, or a bias, or a window: something blocked beside everything.
struct RuledCase {
  std::vector<uint8_t> allowed;
  std::vector<float> bias;
  LibraryCase a;

  RuledCase(const LibraryShape& s, int rule) : a(s, 4) {
    Rng rng(9);
    for (int64_t n = 0; n < s.queries * s.keys; ++n) {
      allowed.push_back(rng.below(3) != 0);
      bias.push_back(allowed.back() ? static_cast<float>(rng.normal()) : -kInfinity);
    }
    if (rule == 0) a.p.rules.mask = {allowed.data(), 0, 0, s.keys, 1};
    if (rule == 1) a.p.rules.bias = {bias.data(), 0, 0, s.keys, 1};
    if (rule == 2) a.p.rules.left = 9, a.p.rules.right = 3;
    if (rule == 3) a.p.rules.causal = true, a.p.rules.left = 70, a.p.rules.mask = {allowed.data(), 0, 0, s.keys, 1};
  }
};

// A key that holds anything at all: the queries that do not see it keep every bit of output and dq.
TEST_P(AttentionLibraryLaws, PoisonInAKeyReachesOnlyTheQueriesThatSeeIt) {
  LibraryShape s;
  s.queries = 130, s.keys = 140, s.key_width = 10, s.value_width = 20;
  for (int run = 0; run < 8; ++run) {
    const int rule = run % 4;
    s.additive = run >= 4;
    RuledCase clean(s, rule);
    clean.a.run();
    for (int64_t key : {0, 5, 63, 64, 100, 139}) {
      for (float poison : {kNaN, kInfinity, 1e30f}) {
        RuledCase dirty(s, rule);
        for (int64_t c = 0; c < 10; ++c) dirty.a.k.at(0, 0, key, c) = poison;
        for (int64_t c = 0; c < 20; ++c) dirty.a.v.at(0, 0, key, c) = poison;
        dirty.a.run();
        for (int64_t i = 0; i < s.queries; ++i) {
          if (clean.a.allowed(0, 0, i, key)) continue;
          ASSERT_TRUE(same_row(dirty.a.out, clean.a.out, 0, 0, i)) << rule << " key " << key << " query " << i;
          ASSERT_TRUE(same_row(dirty.a.dq, clean.a.dq, 0, 0, i)) << rule << " key " << key << " query " << i;
        }
      }
    }
  }
}

// A broken query, or a broken gradient that comes from above, adds to the keys it sees and to no other.
TEST_P(AttentionLibraryLaws, ABrokenQueryReachesOnlyTheKeysItSees) {
  LibraryShape s;
  s.queries = 130, s.keys = 140, s.key_width = 12, s.value_width = 20;
  for (int run = 0; run < 8; ++run) {
    const int rule = run % 4;
    s.additive = run >= 4;
    RuledCase clean(s, rule);
    clean.a.run();
    for (int64_t query : {0, 63, 64, 100}) {
      RuledCase dirty(s, rule);
      for (int64_t c = 0; c < 12; ++c) dirty.a.q.at(0, 0, query, c) = kNaN;
      for (int64_t c = 0; c < 20; ++c) dirty.a.dout.at(0, 0, query, c) = kNaN;
      dirty.a.run();
      bool reached = false;
      for (int64_t j = 0; j < s.keys; ++j) {
        reached = reached || std::isnan(dirty.a.dk.at(0, 0, j, 0));
        if (clean.a.allowed(0, 0, query, j)) continue;
        ASSERT_TRUE(same_row(dirty.a.dk, clean.a.dk, 0, 0, j)) << rule << " query " << query << " key " << j;
        ASSERT_TRUE(same_row(dirty.a.dv, clean.a.dv, 0, 0, j)) << rule << " query " << query << " key " << j;
      }
      EXPECT_TRUE(reached);
    }
  }
}

// Scores of ±10^4 and equal ones; a sum of exponentials without the largest score taken off would overflow.
TEST_P(AttentionLibraryLaws, ScoresOfTenThousandOverflowNowhere) {
  for (double scale : {1e4, -1e4, 0.0}) {
    LibraryShape s;
    s.queries = 70, s.keys = 70, s.key_width = 1, s.value_width = 6, s.dbias = true;
    LibraryCase a(s);
    a.q.each([](float& x) { x = x < 0 ? -1.0f : 1.0f; });
    a.k.each([](float& x) { x = x < -1 ? -1.0f : x < 0 ? 0.99609375f : 1.0f; });  // products are exact
    a.p.scale = static_cast<float>(scale);
    a.p.rules.causal = scale < 0;
    compare_with_definition(a);
  }
}

// A side of a window that no position can leave is no limit, at the farthest offsets too.
TEST_P(AttentionLibraryLaws, TheWidestWindowsBlockNothingAtTheFarthestOffsets) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kFar = (int64_t{1} << 58) - 1;
  for (bool additive : {false, true}) {
    for (int64_t side : {kMost, int64_t{1} << 60, int64_t{1} << 59}) {
      for (int64_t offset : {kFar, int64_t{3}, -kFar}) {
        LibraryShape s;
        s.additive = additive;
        LibraryCase open(s), wide(s);
        wide.p.rules.left = wide.p.rules.right = side;
        wide.p.rules.offset = offset;
        open.run();
        wide.run();
        EXPECT_EQ(wide.out.memory, open.out.memory) << side << " " << offset;
        EXPECT_EQ(wide.dk.memory, open.dk.memory) << side << " " << offset;
      }
    }
  }
}

TEST_P(AttentionLibraryLaws, LengthsOfZeroAndOne) {
  for (int64_t queries : {0, 1}) {
    for (int64_t keys : {0, 1}) {
      for (bool causal : {false, true}) {
        LibraryShape s;
        s.batch = 2, s.heads = 2, s.queries = queries, s.keys = keys, s.key_width = 3, s.value_width = 5, s.dbias = true;
        LibraryCase a(s);
        a.p.rules.causal = causal;
        compare_with_definition(a);
        for (int64_t i = 0; i < queries && keys == 0; ++i) EXPECT_EQ(a.lse.at(1, 1, i, 0), -kInfinity);
      }
    }
  }
}

// Views without elements may be null, whatever their strides: no sentences, no keys, no queries, widths of 0.
TEST_P(AttentionLibraryLaws, ViewsWithoutElementsMayBeNull) {
  for (int empty = 0; empty < 5; ++empty) {
    for (bool additive : {false, true}) {
      for (Layout layout : {Layout::kDense, Layout::kInterleaved, Layout::kGaps}) {
        LibraryShape s;
        s.batch = 2, s.heads = s.groups = 2, s.queries = 5, s.keys = 7, s.layout = layout, s.additive = additive, s.dbias = true;
        for (auto [n, size] : {std::pair{0, &s.batch}, {1, &s.keys}, {2, &s.queries}, {3, &s.key_width}, {4, &s.value_width}}) {
          if (n == empty) *size = 0;
        }
        LibraryCase a(s);
        a.p.rules.causal = true;
        for (Block* x : {&a.q, &a.k, &a.v, &a.out, &a.lse, &a.dout, &a.dq, &a.dk, &a.dv}) {
          if (x->view.batch * x->view.heads * x->view.rows * x->view.columns == 0) x->memory.clear(), x->view.data = nullptr;
        }
        a.store();
        SCOPED_TRACE(empty);
        compare_with_definition(a, {.threads = 2});
        if (empty > 2) continue;
        dropout_factors(a.p, dense(static_cast<float*>(nullptr), s.batch, 2, s.queries, s.keys));
        weights(a.p, dense(static_cast<float*>(nullptr), s.batch, 2, s.queries, s.keys));
      }
    }
  }
}

// Under each rule; alone, and where sentences share keys and all add to one bias.
TEST_P(AttentionLibraryLaws, ThreadsAndWorkspaceChangeNoBit) {
  LibraryShape s;
  s.batch = 2, s.heads = 4, s.groups = 2, s.queries = s.keys = 300, s.key_width = s.value_width = 8, s.dbias = true;
  for (int run = 0; run < 8; ++run) {
    RuledCase one(s, run % 4), more(s, run % 4);
    for (RuledCase* c : {&one, &more}) {
      c->a.p.rules.causal = run % 2 == 0;
      if (run % 3 != 2) c->a.p.dropout = {0.2f, 5};
      for (Block* x : {&c->a.dk, &c->a.dv, &c->a.dbias}) x->fill(0);
      if (run < 4) continue;
      c->a.p.k.batch_stride = c->a.p.v.batch_stride = c->a.dk.view.batch_stride = c->a.dv.view.batch_stride = 0;
      c->a.dbias.view.batch_stride = c->a.dbias.view.head_stride = 0;
    }
    one.a.run();
    std::vector<char> memory(backward_workspace(more.a.p, 3));
    EXPECT_GE(memory.size(), forward_workspace(more.a.p, 3));
    more.a.run({3, memory.data(), memory.size()});
    for (auto [x, y] : {std::pair{&one.a.out, &more.a.out},
                        {&one.a.lse, &more.a.lse},
                        {&one.a.dq, &more.a.dq},
                        {&one.a.dk, &more.a.dk},
                        {&one.a.dv, &more.a.dv},
                        {&one.a.dbias, &more.a.dbias}}) {
      EXPECT_EQ(x->memory, y->memory) << run;
    }
    EXPECT_THROW(more.a.backward({3, memory.data(), memory.size() - 1}), Error);
  }
}

// The memory a backward needs does not grow with T × S.
TEST_P(AttentionLibraryLaws, TheWorkspaceGrowsWithTheQueriesAlone) {
  LibraryShape small, large;
  small.queries = small.keys = 64;
  large.queries = large.keys = 1064;
  EXPECT_EQ(backward_workspace(LibraryCase(large).p) - backward_workspace(LibraryCase(small).p), 1000 * sizeof(float));
  EXPECT_EQ(forward_workspace(LibraryCase(large).p), 0u);
}

TEST(AttentionLibraryDropout, KeepsTheShareAndTheExpectationItShould) {
  LibraryShape s;
  s.batch = 2, s.heads = 2, s.groups = 2, s.queries = 64, s.keys = 64;
  LibraryCase a(s);
  a.p.dropout = {0.3f, 1};
  Block factors(2, 2, 64, 64), others(2, 2, 64, 64);
  dropout_factors(a.p, factors.view);
  int64_t kept = 0, same = 0;
  factors.each([&](float& x) { kept += x != 0; });
  EXPECT_NEAR(static_cast<double>(kept) / (4 * 64 * 64), 0.7, 5 * std::sqrt(0.3 * 0.7 / (4 * 64 * 64)));
  a.p.dropout.seed = 2;
  dropout_factors(a.p, others.view);
  for (size_t i = 0; i < factors.memory.size(); ++i) same += factors.memory[i] == others.memory[i];
  EXPECT_NEAR(static_cast<double>(same) / (4 * 64 * 64), 0.58, 5 * std::sqrt(0.58 * 0.42 / (4 * 64 * 64)));
}

// dbias of a broadcast bias is the sum over what it broadcasts.
TEST_P(AttentionLibraryLaws, TheGradientOfABroadcastBiasIsASum) {
  LibraryShape s;
  s.batch = 3, s.heads = 2, s.queries = 70, s.keys = 66, s.dbias = true;
  LibraryCase a(s);
  a.run();
  for (int broadcast = 0; broadcast < 16; ++broadcast) {
    const auto stride = [&](int bit, int64_t n) { return broadcast >> bit & 1 ? 0 : n; };
    std::vector<float> sum(a.dbias.memory.size(), kNaN), expected(sum.size(), 0.0f);
    Gradient g = a.gradient();
    g.dbias = {sum.data(), stride(0, 2 * 70 * 66), stride(1, 70 * 66), stride(2, 66), stride(3, 1)};
    backward(a.p, g, {.threads = 2});
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t h = 0; h < 2; ++h) {
        for (int64_t i = 0; i < 70; ++i) {
          for (int64_t j = 0; j < 66; ++j)
            *LibraryCase::pair(
                Pairs<float>{expected.data(), g.dbias.batch_stride, g.dbias.head_stride, g.dbias.query_stride, g.dbias.key_stride}, b, h, i,
                j) += a.dbias.at(b, h, i, j);
        }
      }
    }
    for (size_t n = 0; n < sum.size(); ++n) {
      if (std::isnan(sum[n])) continue;  // not part of the broadcast view
      ASSERT_NEAR(sum[n], expected[n], 2e-5) << broadcast;
    }
  }
}

// Sentences that share their keys: gradients add up, and rows beside the sentence are cleared.
TEST_P(AttentionLibraryLaws, GradientsOfSharedKeysAddUp) {
  LibraryShape s;
  s.batch = 3, s.heads = 2, s.groups = 2, s.queries = 5, s.keys = 70, s.key_lengths = {70, 3, 66};
  LibraryCase apart(s), shared(s);
  for (int64_t b = 1; b < 3; ++b) {
    for (LibraryCase* a : {&apart, &shared}) {
      for (auto* x : {&a->k, &a->v}) std::copy_n(&x->at(0, 0, 0, 0), x->view.batch_stride, &x->at(b, 0, 0, 0));
    }
  }
  apart.run();
  shared.forward();
  Gradient g = shared.gradient();
  shared.p.k.batch_stride = shared.p.v.batch_stride = g.dk.batch_stride = g.dv.batch_stride = 0;
  backward(shared.p, g, {.threads = 2});
  for (auto [x, y] : {std::pair{&apart.dk, &shared.dk}, {&apart.dv, &shared.dv}}) {
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t j = 0; j < 70; ++j) {
        for (int64_t c = 0; c < 4; ++c) EXPECT_NEAR(y->at(0, h, j, c), x->at(0, h, j, c) + x->at(1, h, j, c) + x->at(2, h, j, c), 1e-5);
      }
    }
  }
  EXPECT_EQ(apart.dq.memory, shared.dq.memory);
}

TEST_P(AttentionLibraryLaws, AccumulatedGradientsAddToWhatIsThere) {
  LibraryShape s;
  s.batch = 2, s.heads = 4, s.groups = 2, s.queries = 70, s.keys = 66, s.dbias = true;
  LibraryCase a(s);
  a.p.rules.left = 20;
  a.run();
  LibraryCase twice(s);
  twice.p.rules.left = 20;
  twice.run();
  Gradient g = twice.gradient();
  g.accumulate = true;
  backward(twice.p, g);
  for (auto [x, y] : {std::pair{&a.dq, &twice.dq}, {&a.dk, &twice.dk}, {&a.dv, &twice.dv}, {&a.dbias, &twice.dbias}}) {
    for (size_t i = 0; i < x->memory.size(); ++i) EXPECT_NEAR(y->memory[i], 2 * x->memory[i], 2e-5);
  }
}

// Elements beyond 2^31 of every view: entries, heads and rows lie far apart, in memory that is only reserved.
TEST_P(AttentionLibraryLaws, PlacesBeyondTwoToThe31ElementsAreFound) {
  const int64_t far = int64_t{1} << 31, bytes = 9 * far;
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "18 GiB of address space are not to be had";
  LibraryShape s;
  s.batch = 2, s.queries = 2, s.keys = 2, s.key_width = s.value_width = 4;
  const std::vector<float> bias = {0, 1, 2, 3, 4, 5, 6, 7};
  LibraryCase near(s);
  near.p.rules.bias = {bias.data(), 4, 0, 2, 1};
  near.run();
  float* base = static_cast<float*>(memory);
  Problem p;
  Result r;
  const auto place = [&](const Block& x, int64_t at) {  // entries 2^31 elements apart, rows 2^20
    View v = x.view;
    v.data = base + at;
    v.batch_stride = far, v.row_stride = int64_t{1} << 20;
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t i = 0; i < 2; ++i) std::copy_n(&x.at(b, 0, i, 0), x.view.columns, v.data + b * far + i * v.row_stride);
    }
    return v;
  };
  p.q = place(near.q, 0), p.k = place(near.k, 1000), p.v = place(near.v, 2000);
  r.out = place(near.out, 3000), r.lse = place(near.lse, 4000);
  Gradient g{r.out, place(near.dout, 5000), r.lse, place(near.dq, 6000), place(near.dk, 7000), place(near.dv, 8000)};
  const View far_bias = {base + 9000, 2, 1, 2, 2, far, 0, int64_t{1} << 20};
  for (int64_t n = 0; n < 8; ++n) far_bias.data[n / 4 * far + n / 2 % 2 * far_bias.row_stride + n % 2] = bias[static_cast<size_t>(n)];
  p.rules.bias = {far_bias.data, far, 0, far_bias.row_stride, 1};
  for (const View& v : {r.out, g.dq, g.dk, g.dv}) v.data[far] = v.data[far + v.row_stride] = kNaN;
  forward(p, r);
  backward(p, g);
  for (auto [v, x] : {std::pair{r.out, &near.out}, {g.dq, &near.dq}, {g.dk, &near.dk}, {g.dv, &near.dv}}) {
    for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(std::memcmp(v.data + far + i * v.row_stride, &x->at(1, 0, i, 0), 16), 0);
  }
  munmap(memory, static_cast<size_t>(bytes));
}

// What the header says of writes beside its rows: gaps and rows of no sentence stay as they were.
TEST_P(AttentionLibraryLaws, NothingIsWrittenBesideTheRows) {
  LibraryShape s;
  s.batch = 2, s.heads = s.groups = 2, s.layout = Layout::kGaps, s.query_lengths = {70, 3}, s.key_lengths = {3, 70},
  s.packed_queries = s.packed_keys = true;
  LibraryCase a(s);
  a.run();
  for (const Block* x : {&a.out, &a.lse, &a.dq, &a.dk, &a.dv}) {
    size_t inside = 0, markers = 0;
    x->each([&](float&) { ++inside; });
    for (float value : x->memory) markers += value == Block::kMarker;
    EXPECT_EQ(inside + markers, x->memory.size());
    for (int64_t h = 0; h < 2; ++h) EXPECT_TRUE(std::isnan(x->at(0, h, 0, 0))) << "the row before the first sentence";
  }
}

}  // namespace
}  // namespace jumok::attention
