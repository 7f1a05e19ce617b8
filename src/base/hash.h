// A 64-bit hash of text that is the same on every machine and in every run; stored in files, so it must never change.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rng.h"

namespace jumok {

// h = mix64(number of bytes ⊕ seed), then h = mix64(h ⊕ word) for each 8 bytes as a little-endian word, the last one filled with zeros.
inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  uint64_t key = mix64(text.size() ^ seed);
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    for (size_t j = 0; j < 8 && i + j < text.size(); ++j) word |= uint64_t{static_cast<unsigned char>(text[i + j])} << (8 * j);
    key = mix64(key ^ word);
  }
  return key;
}

}  // namespace jumok
