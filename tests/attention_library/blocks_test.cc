// Masks and biases that block whole tiles, which the kernels skip: bits and definition stay those of the pairs that are left.
#include <cstring>

#include "definition.h"
#include "kernels/grid.h"

namespace jumok::attention {
namespace {

class AttentionBlocks : public kernels::EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionBlocks, ::testing::ValuesIn(kernels::supported_targets()), kernels::target_name);

// Queries of section n see the keys of section n alone. Key sections begin at multiples of 64, the tile of keys, so that a section's sums
// are cut as they are when it stands alone; query sections begin anywhere. The last ten queries and the last four keys are of no section.
constexpr int64_t kQueryBegin[] = {0, 5, 210, 300}, kKeyBegin[] = {0, 64, 192, 250};
constexpr int64_t kQueries = 310, kKeys = 254;

bool same_section(int64_t i, int64_t j) {
  for (int n = 0; n < 3; ++n) {
    if (i >= kQueryBegin[n] && i < kQueryBegin[n + 1] && j >= kKeyBegin[n] && j < kKeyBegin[n + 1]) return true;
  }
  return false;
}

struct SectionedCase {
  std::vector<uint8_t> mask;
  std::vector<float> bias;
  LibraryCase a;

  static LibraryShape shape() {
    LibraryShape s;
    s.heads = 2, s.groups = 2, s.queries = kQueries, s.keys = kKeys, s.key_width = 20, s.value_width = 12, s.dbias = true;
    return s;
  }
  explicit SectionedCase(bool as_bias) : a(shape(), 6) {
    for (int64_t n = 0; n < kQueries * kKeys; ++n) {
      mask.push_back(same_section(n / kKeys, n % kKeys));
      bias.push_back(mask.back() ? 0.0f : -kInfinity);
    }
    // Scores about -7: a running maximum that began at 0 would show.
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t i = 0; i < kQueries; ++i) a.q.at(0, h, i, 0) = 4;
      for (int64_t j = 0; j < kKeys; ++j) a.k.at(0, h, j, 0) = -8;
    }
    if (as_bias) {
      a.p.rules.bias = {bias.data(), 0, 0, kKeys, 1};
    } else {
      a.p.rules.mask = {mask.data(), 0, 0, kKeys, 1};
    }
  }
};

bool same_rows(const Block& x, int64_t x_row, const Block& y, int64_t rows) {
  bool same = true;
  for (int64_t h = 0; h < x.view.heads; ++h) {
    for (int64_t r = 0; r < rows; ++r) {
      same = same && std::memcmp(&x.at(0, h, x_row + r, 0), &y.at(0, h, r, 0), static_cast<size_t>(y.view.columns) * sizeof(float)) == 0;
    }
  }
  return same;
}

void copy_rows(const Block& from, int64_t row, const Block& to) {
  for (int64_t h = 0; h < to.view.heads; ++h) {
    for (int64_t r = 0; r < to.view.rows; ++r) std::copy_n(&from.at(0, h, row + r, 0), to.view.columns, &to.at(0, h, r, 0));
  }
}

void expect_section_alone(const LibraryCase& a, int n) {
  LibraryShape s = a.shape;
  s.queries = kQueryBegin[n + 1] - kQueryBegin[n], s.keys = kKeyBegin[n + 1] - kKeyBegin[n];
  LibraryCase alone(s);
  copy_rows(a.q, kQueryBegin[n], alone.q), copy_rows(a.dout, kQueryBegin[n], alone.dout);
  copy_rows(a.k, kKeyBegin[n], alone.k), copy_rows(a.v, kKeyBegin[n], alone.v);
  alone.store();
  alone.run();
  for (auto [x, y] : {std::pair{&a.out, &alone.out}, {&a.lse, &alone.lse}, {&a.dq, &alone.dq}}) {
    EXPECT_TRUE(same_rows(*x, kQueryBegin[n], *y, s.queries)) << "section " << n;
  }
  for (auto [x, y] : {std::pair{&a.dk, &alone.dk}, {&a.dv, &alone.dv}}) {
    EXPECT_TRUE(same_rows(*x, kKeyBegin[n], *y, s.keys)) << "section " << n;
  }
}

TEST_P(AttentionBlocks, SectionsOfAMaskHaveTheBitsOfSectionsAlone) {
  for (const bool as_bias : {false, true}) {
    SectionedCase c(as_bias);
    c.a.run();
    for (int n = 0; n < 3; ++n) expect_section_alone(c.a, n);
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t i = 300; i < kQueries; ++i) {
        EXPECT_EQ(c.a.lse.at(0, h, i, 0), -kInfinity);
        for (int64_t col = 0; col < 12; ++col) EXPECT_EQ(c.a.out.at(0, h, i, col), 0) << "a query that sees nothing";
      }
      for (int64_t j = 250; j < kKeys; ++j) {
        for (int64_t col = 0; col < 12; ++col) EXPECT_EQ(c.a.dv.at(0, h, j, col), 0) << "a key that nothing sees";
      }
    }
  }
}

TEST_P(AttentionBlocks, BlockedTilesMeetCausalWindowAndDropout) {
  for (const bool as_bias : {false, true}) {
    SectionedCase c(as_bias);
    c.a.p.dropout = {0.3f, 11};
    compare_with_definition(c.a);
    c.a.p.rules.causal = true;
    compare_with_definition(c.a);
    c.a.p.rules.left = 100;
    compare_with_definition(c.a, {.threads = 2});
  }
}

// What is added to stays where a tile is skipped.
TEST_P(AttentionBlocks, GradientsAddUpPastBlockedTiles) {
  SectionedCase once(false), twice(false);
  once.a.run();
  twice.a.run();
  Gradient g = twice.a.gradient();
  g.accumulate = true;
  backward(twice.a.p, g);
  for (auto [x, y] : {std::pair{&once.a.dq, &twice.a.dq}, {&once.a.dk, &twice.a.dk}, {&once.a.dv, &twice.a.dv}}) {
    for (size_t i = 0; i < x->memory.size(); ++i) ASSERT_NEAR(y->memory[i], 2 * x->memory[i], 1e-4);
  }
}

// A mask of keys alone, broadcast over the queries, is the length said otherwise; what stands behind may be anything.
TEST_P(AttentionBlocks, AMaskOfPaddingIsALength) {
  LibraryShape s = SectionedCase::shape();
  s.dbias = false;
  LibraryCase masked(s, 3), cut(s, 3);
  std::vector<uint8_t> mask(kKeys, 1);
  std::fill(mask.begin() + 70, mask.end(), uint8_t{0});
  masked.p.rules.mask = {mask.data(), 0, 0, 0, 1};
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t j = 70; j < kKeys; ++j) masked.k.at(0, h, j, 0) = masked.v.at(0, h, j, 1) = j % 2 ? kNaN : 1e30f;
  }
  const int64_t length = 70;
  cut.p.keys.length = &length;
  cut.p.rules.offset = 0;
  masked.run();
  cut.run();
  for (auto [x, y] : {std::pair{&masked.out, &cut.out}, {&masked.lse, &cut.lse}, {&masked.dq, &cut.dq}}) {
    EXPECT_TRUE(same_rows(*x, 0, *y, kQueries));
  }
  for (auto [x, y] : {std::pair{&masked.dk, &cut.dk}, {&masked.dv, &cut.dv}}) EXPECT_TRUE(same_rows(*x, 0, *y, kKeys));
}

}  // namespace
}  // namespace jumok::attention
