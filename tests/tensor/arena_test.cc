#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstring>

namespace jumok {
namespace {

TEST(Arena, PiecesAreAlignedDoNotOverlapAndStayUntilTheReset) {
  Arena arena;
  std::vector<std::span<float>> pieces;
  for (int i = 0; i < 300; ++i) {  // more than one block
    pieces.push_back(arena.allocate<float>(1 + 97 * i));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pieces.back().data()) % 64, 0u);
    std::fill(pieces.back().begin(), pieces.back().end(), static_cast<float>(i));
  }
  for (int i = 0; i < 300; ++i) {
    for (const float v : pieces[i]) ASSERT_EQ(v, static_cast<float>(i));
  }
}

TEST(Arena, ASteadyStateHandsOutTheSameMemoryAgain) {
  Arena arena;
  const auto round = [&] {
    arena.reset();
    const float* first = arena.allocate<float>(3'000'000).data();
    arena.allocate<float>(2'000'000);
    return first;
  };
  round();
  const float* second = round();
  EXPECT_EQ(second, round());
  EXPECT_GE(arena.peak_bytes(), 20'000'000);
}

TEST(Arena, AnEmptyPieceIsFine) {
  Arena arena;
  EXPECT_EQ(arena.allocate<float>(0).size(), 0u);
  EXPECT_EQ(arena.tensor(0, 7).rows, 0);
}

TEST(PaddedStride, LeavesPowersOfTwoAndKeepsRowsAligned) {
  EXPECT_EQ(padded_stride(64), 64);
  EXPECT_EQ(padded_stride(128), 144);
  EXPECT_EQ(padded_stride(384), 400);
  EXPECT_EQ(padded_stride(512), 528);
  EXPECT_EQ(padded_stride(2048), 2064);
  EXPECT_EQ(padded_stride(33), 40);
  EXPECT_EQ(padded_stride(1), 8);
}

TEST(Tensor, SlicesAreViewsOfTheSameNumbers) {
  float numbers[12];
  for (int i = 0; i < 12; ++i) numbers[i] = static_cast<float>(i);
  const Tensor t(numbers, 3, 4, 4);
  EXPECT_EQ(t.column_slice(1, 2).row(2)[0], 9);
  EXPECT_EQ(t.row_slice(1, 2).row(1)[3], 11);
  t.column_slice(3, 1).row(0)[0] = 50;
  EXPECT_EQ(numbers[3], 50);
}

}  // namespace
}  // namespace jumok
