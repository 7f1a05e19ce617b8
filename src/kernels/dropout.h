// Dropout decisions without memory: a mask is a function of (row key, site, column), recomputed wherever it is needed.
#pragma once

#include <cstdint>

namespace jumok::kernels {

// Which elements of a row survive. A default-made Dropout keeps everything (inference).
//   rate     probability of dropping an element, in [0, 1)
//   site     which dropout of the network this is: the n-th in program order
//   row_keys [rows] one key a row, made from (seed, update, sentence, position); null keeps everything
struct Dropout {
  float rate = 0.0f;
  uint32_t site = 0;
  const uint32_t* row_keys = nullptr;

  bool active() const { return rate > 0.0f && row_keys != nullptr; }
};

// The 32 random bits of element (key, site, column): "lowbias32" (C. Wellons, hash-prospector) over the mixed words.
// An element is kept when its bits are >= keep_threshold(rate); kept elements are multiplied by 1 / (1 - rate).
constexpr uint32_t lowbias32(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}
constexpr uint32_t dropout_row_seed(uint32_t row_key, uint32_t site) { return lowbias32(row_key ^ (site * 0x9e3779b9U)); }
constexpr uint32_t dropout_bits(uint32_t row_seed, uint32_t column) { return lowbias32(row_seed + column * 0x9e3779b9U); }
constexpr uint32_t keep_threshold(float rate) { return static_cast<uint32_t>(static_cast<double>(rate) * 4294967296.0); }

}  // namespace jumok::kernels
