// Packed batches: the rows of all sentences back to back. Padding is never stored, so it can reach nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/parallel_corpus.h"

namespace jumok {

// N rows of B sentences; sentence b is rows [begin[b], begin[b] + length[b]).
struct PackedRows {
  std::vector<int32_t> ids;            // [N]
  std::vector<int32_t> position;       // [N], from 0 in each sentence
  std::vector<int32_t> begin, length;  // [B]
  std::vector<uint64_t> sentence;      // [B], the number each sentence goes by in row_keys

  int64_t rows() const { return static_cast<int64_t>(ids.size()); }
  int sentences() const { return static_cast<int>(begin.size()); }
};

// The decoder's side: input is START y_1 … y_n, labels are y_1 … y_n END, row by row.
struct PackedTarget {
  PackedRows input;
  std::vector<int32_t> labels;  // [N]
};

// Sources end with the end symbol: x_1 … x_n END. `sentences` are numbers of the corpus.
PackedRows pack_source(const ParallelCorpus& corpus, std::span<const int32_t> sentences);
PackedTarget pack_target(const ParallelCorpus& corpus, std::span<const int32_t> sentences);
// The same from plain ids, numbered from 0 as they come. A sentence may be empty: its only row is then the end (or start) symbol.
PackedRows pack_source(std::span<const std::vector<int32_t>> sentences);
PackedTarget pack_target(std::span<const std::vector<int32_t>> sentences);
// The ids as they are, without a start or an end symbol.
PackedRows pack_plain(std::span<const std::vector<int32_t>> sentences);

// Which side of a pair rows belong to: one more word of their dropout keys.
enum class Side : uint32_t { kSource = 0, kTarget = 1 };

// [N] one dropout key a row (kernels/dropout.h), a hash of (seed, update, side, sentence, position): no thread, lane or batch mate enters.
std::vector<uint32_t> row_keys(const PackedRows& packed, uint64_t seed, uint64_t update, Side side);

}  // namespace jumok
