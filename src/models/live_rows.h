// The live rows of a search: hypotheses, those of one sentence side by side.
#pragma once

#include <span>
#include <vector>

#include "autograd/scaled_dot.h"
#include "data/packed.h"

namespace jumok {

// Row r is sentence r of a packed batch whose sentences are one row long, all at one position.
PackedRows one_row_each(std::span<const int32_t> symbols, int32_t position);

// The sentence of each row [rows] after a step: at the first one parents are sentences, later rows of the step before.
std::vector<int32_t> follow_sentences(std::span<const int32_t> parents, std::span<const int32_t> before, bool first);

// The rows of one sentence are the queries of its memory.
struct SentenceGroups {
  std::vector<int32_t> begin, length, key_begin, key_length;
  AttentionRows rows() const { return {begin, length, key_begin, key_length}; }
};
SentenceGroups group_by_sentence(std::span<const int32_t> sentence, const PackedRows& source);

}  // namespace jumok
