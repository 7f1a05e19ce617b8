// The two 16-bit float formats as bit patterns, and their conversions from and to f32: scalar, exact, branch-light.
//   f16  (IEEE 754 binary16): 1 sign, 5 exponent (bias 15), 10 fraction bits; largest 65504, smallest subnormal 2^-24
//   bf16 (upper half of f32): 1 sign, 8 exponent (bias 127), 7 fraction bits
// Narrowing rounds to the nearest value, ties to even, as numpy and PyTorch do; infinities stay, a NaN stays a NaN of its sign.
#pragma once

#include <bit>
#include <cstdint>

namespace jumok {

constexpr float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

constexpr uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  // A NaN whose payload lies in the lower half only would become an infinity: its quiet bit is set instead.
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x0040u);
  const uint32_t lowest_kept = (bits >> 16) & 1u;
  return static_cast<uint16_t>((bits + 0x7fffu + lowest_kept) >> 16);
}

constexpr float f16_to_f32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: fraction · 2^-24, exact in f32
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 127 - 15) << 23) | (fraction << 13));
}

constexpr uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  // 65520 = 65504 + half a step is the first value that rounds to infinity.
  if (magnitude >= std::bit_cast<uint32_t>(65520.0f)) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < std::bit_cast<uint32_t>(0x1.0p-14f)) {
    // Subnormal: adding 0.5 puts one step of 2^-24 at the last bit of an f32, so that the addition itself rounds to nearest even.
    const uint32_t shifted = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
    return static_cast<uint16_t>(sign | (shifted - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t lowest_kept = (magnitude >> 13) & 1u;
  const uint32_t rebiased = magnitude - ((127u - 15u) << 23);
  return static_cast<uint16_t>(sign | ((rebiased + 0xfffu + lowest_kept) >> 13));
}

}  // namespace jumok
