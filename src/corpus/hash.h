// 64-bit hashes of text that are the same on every machine and in every run.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rng.h"

namespace jumok {

// Eight bytes at a time through mix64, the length last.
inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  uint64_t key = mix64(seed);
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    for (size_t j = 0; j < 8 && i + j < text.size(); ++j) word |= uint64_t{static_cast<unsigned char>(text[i + j])} << (8 * j);
    key = mix64(key ^ word);
  }
  return mix64(key ^ text.size());
}

}  // namespace jumok
