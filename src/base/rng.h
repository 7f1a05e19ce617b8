// Random numbers that depend on nothing but their key: counter-based, so any thread can recompute any of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace jumok {

// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64-bit words in which every input bit reaches every output bit.
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// One key from several: hash(seed, update, sentence, ...).
template <typename... Words>
constexpr uint64_t hash_words(uint64_t first, Words... rest) {
  uint64_t key = mix64(first);
  ((key = mix64(key ^ static_cast<uint64_t>(rest))), ...);
  return key;
}

// A stream of random numbers: key and counter are all its state, so it can be saved and copied.
class Rng {
 public:
  explicit Rng(uint64_t key, uint64_t counter = 0) : key_(key), counter_(counter) {}

  uint64_t bits() { return mix64(key_ ^ mix64(counter_++)); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }                                        // [0, 1)
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(bits()) * n) >> 64); }  // [0, n)
  double normal() {                                                                                                 // Box-Muller
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  template <typename Sequence>
  void shuffle(Sequence& items) {  // Fisher-Yates
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }
  uint64_t counter() const { return counter_; }

 private:
  uint64_t key_, counter_;
};

}  // namespace jumok
