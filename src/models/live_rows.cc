#include "models/live_rows.h"

#include <numeric>

namespace jumok {

PackedRows one_row_each(std::span<const int32_t> symbols, int32_t position) {
  PackedRows rows;
  rows.ids.assign(symbols.begin(), symbols.end());
  rows.position.assign(symbols.size(), position);
  rows.begin.resize(symbols.size());
  std::iota(rows.begin.begin(), rows.begin.end(), 0);
  rows.length.assign(symbols.size(), 1);
  return rows;
}

std::vector<int32_t> follow_sentences(std::span<const int32_t> parents, std::span<const int32_t> before, bool first) {
  std::vector<int32_t> sentence(parents.begin(), parents.end());
  if (first) return sentence;
  for (int32_t& s : sentence) s = before[static_cast<size_t>(s)];
  return sentence;
}

SentenceGroups group_by_sentence(std::span<const int32_t> sentence, const PackedRows& source) {
  SentenceGroups g;
  for (size_t r = 0; r < sentence.size(); ++r) {
    if (r > 0 && sentence[r] == sentence[r - 1]) {
      ++g.length.back();
      continue;
    }
    g.begin.push_back(static_cast<int32_t>(r));
    g.length.push_back(1);
    g.key_begin.push_back(source.begin[static_cast<size_t>(sentence[r])]);
    g.key_length.push_back(source.length[static_cast<size_t>(sentence[r])]);
  }
  return g;
}

}  // namespace jumok
