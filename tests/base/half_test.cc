#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace jumok {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
uint64_t fnv(const std::vector<T>& values) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

bool is_nan(uint16_t half) { return (half & 0x7fff) > 0x7c00; }

// The value by the definition of binary16, in double.
double defined_value(uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 1023;
  const double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

// The hashes in this file are printed by half.py: numpy and torch.

TEST(Half, AllF16ValuesWidenAsInNumpyAndByDefinition) {
  std::vector<float> finite;
  for (uint32_t half = 0; half < 65536; ++half) {
    const float wide = f16_to_f32(static_cast<uint16_t>(half));
    const double expected = defined_value(static_cast<uint16_t>(half));
    ASSERT_EQ(std::isnan(wide), std::isnan(expected)) << half;
    ASSERT_EQ(std::signbit(wide), (half & 0x8000) != 0) << half;
    if (std::isnan(wide)) continue;
    ASSERT_EQ(wide, expected) << half;
    finite.push_back(wide);
  }
  EXPECT_EQ(fnv(finite), 0xa7a575fd4882f925ull);
}

TEST(Half, AllF16ValuesComeBack) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const uint16_t back = f32_to_f16(f16_to_f32(static_cast<uint16_t>(half)));
    if (is_nan(static_cast<uint16_t>(half))) {
      ASSERT_TRUE(is_nan(back) && (back & 0x8000) == (half & 0x8000)) << half;
    } else {
      ASSERT_EQ(back, half);
    }
  }
}

TEST(Half, F16RoundsToNearestTiesToEvenBetweenAllNeighbours) {
  for (uint32_t half = 0; half < 0x7bff; ++half) {  // subnormals included; negative likewise
    const float low = f16_to_f32(static_cast<uint16_t>(half)), high = f16_to_f32(static_cast<uint16_t>(half + 1));
    const float middle = (low + high) / 2;  // exact in f32
    const uint16_t even = static_cast<uint16_t>(half + (half & 1));
    for (const uint16_t sign : {0, 0x8000}) {
      const float factor = sign ? -1.0f : 1.0f;
      ASSERT_EQ(f32_to_f16(factor * middle), even | sign) << half;
      ASSERT_EQ(f32_to_f16(factor * std::nextafter(middle, 0.0f)), half | sign) << half;
      ASSERT_EQ(f32_to_f16(factor * std::nextafter(middle, kInfinity)), (half + 1) | sign) << half;
    }
  }
}

TEST(Half, F16OverflowUnderflowAndNaN) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::max()), 0xfc00);
  EXPECT_EQ(f32_to_f16(kInfinity), 0x7c00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);  // a tie with 0
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {  // a payload in the low bits only
    const uint16_t half = f32_to_f16(std::bit_cast<float>(bits));
    EXPECT_TRUE(is_nan(half)) << bits;
    EXPECT_EQ(half >> 15, bits >> 31);
  }
}

std::vector<float> spread() {
  std::vector<float> values;
  for (uint64_t i = 0; i < 1 << 18; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(i * 16381));
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

TEST(Half, NarrowingAgreesWithNumpyAndTorchOverAllOfF32) {
  std::vector<uint16_t> halves, brains, inside;
  for (const float value : spread()) {
    halves.push_back(f32_to_f16(value));
    brains.push_back(f32_to_bf16(value));
  }
  for (uint32_t i = 0; i < 1 << 18; ++i) inside.push_back(f32_to_f16(std::bit_cast<float>(i * 1377 + (101u << 23))));
  EXPECT_EQ(halves.size(), 261167u);
  EXPECT_EQ(fnv(halves), 0x999b6bb3d60ff751ull);
  EXPECT_EQ(fnv(inside), 0x2aa0ea6b59d12dd2ull);
  EXPECT_EQ(fnv(brains), 0x765448b357b8cf7full);
}

TEST(Half, Bf16RoundsTiesToEvenAndKeepsNaN) {
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // tie, even below
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);  // tie, even above
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f32_to_bf16(-kInfinity), 0xff80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x00000001u)), 0);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x00018000u)), 2);  // subnormals are numbers like others
  for (const uint32_t bits : {0x7f800001u, 0x7f80ffffu, 0x7fffffffu, 0xff800001u}) {
    const uint16_t brain = f32_to_bf16(std::bit_cast<float>(bits));
    EXPECT_TRUE(std::isnan(bf16_to_f32(brain))) << bits;
    EXPECT_EQ(brain >> 15, bits >> 31);
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = bf16_to_f32(static_cast<uint16_t>(bits));
    if (!std::isnan(wide)) {
      ASSERT_EQ(f32_to_bf16(wide), bits);
    }
  }
}

}  // namespace
}  // namespace jumok
