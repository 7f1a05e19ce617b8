// The rows of a packed batch in the order in which a recurrent layer goes over them.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/arena.h"

namespace jumok {

// Sentences have ranks, longest first, so that those not yet over at step t are the first alive(t) ranks. Time-major rows: step 0 of all,
// then step 1 of those that have one, and so on.
struct TimeMajor {
  int64_t steps = 0;         // T, the longest length
  std::span<int32_t> order;  // [B] sentence of each rank; equal lengths keep their order
  std::span<int32_t> first;  // [T + 1] time-major row at which a step begins; first[T]: rows of all sentences
  std::span<int32_t> row;    // [first[T]] packed row of each time-major row
  bool ordered = true;       // rank = sentence: they came longest first

  int64_t alive(int64_t t) const { return t < steps ? first[t + 1] - first[t] : 0; }
  int64_t rows() const { return first[steps]; }
};

// Sentence b has rows [begin[b], begin[b] + length[b]) of `rows`, and is read from the last one when `reversed`. Throws Error where a
// sentence leaves the rows or shares one with another. Memory: the arena's.
TimeMajor time_major(Arena& arena, std::span<const int32_t> begin, std::span<const int32_t> length, int64_t rows, bool reversed);

}  // namespace jumok
