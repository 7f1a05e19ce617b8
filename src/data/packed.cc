#include "data/packed.h"

#include "base/rng.h"

namespace jumok {
namespace {

// Appends the rows  before? ids… after?  of one sentence (a negative symbol is left out).
void append(PackedRows& packed, int32_t before, std::span<const int32_t> ids, int32_t after, uint64_t sentence) {
  const auto begin = static_cast<int32_t>(packed.ids.size());
  if (before >= 0) packed.ids.push_back(before);
  packed.ids.insert(packed.ids.end(), ids.begin(), ids.end());
  if (after >= 0) packed.ids.push_back(after);
  const auto length = static_cast<int32_t>(packed.ids.size()) - begin;
  for (int32_t t = 0; t < length; ++t) packed.position.push_back(t);
  packed.begin.push_back(begin);
  packed.length.push_back(length);
  packed.sentence.push_back(sentence);
}

void append_target(PackedTarget& packed, std::span<const int32_t> ids, uint64_t sentence) {
  append(packed.input, kStart, ids, -1, sentence);
  packed.labels.insert(packed.labels.end(), ids.begin(), ids.end());
  packed.labels.push_back(kEnd);
}

}  // namespace

PackedRows pack_source(const ParallelCorpus& corpus, std::span<const int32_t> sentences) {
  PackedRows packed;
  for (const int32_t i : sentences) append(packed, -1, corpus.source(i), kEnd, static_cast<uint64_t>(i));
  return packed;
}

PackedTarget pack_target(const ParallelCorpus& corpus, std::span<const int32_t> sentences) {
  PackedTarget packed;
  for (const int32_t i : sentences) append_target(packed, corpus.target(i), static_cast<uint64_t>(i));
  return packed;
}

PackedRows pack_source(std::span<const std::vector<int32_t>> sentences) {
  PackedRows packed;
  for (size_t i = 0; i < sentences.size(); ++i) append(packed, -1, sentences[i], kEnd, i);
  return packed;
}

PackedTarget pack_target(std::span<const std::vector<int32_t>> sentences) {
  PackedTarget packed;
  for (size_t i = 0; i < sentences.size(); ++i) append_target(packed, sentences[i], i);
  return packed;
}

PackedRows pack_plain(std::span<const std::vector<int32_t>> sentences) {
  PackedRows packed;
  for (size_t i = 0; i < sentences.size(); ++i) append(packed, -1, sentences[i], -1, i);
  return packed;
}

std::vector<uint32_t> row_keys(const PackedRows& packed, uint64_t seed, uint64_t update, Side side) {
  std::vector<uint32_t> keys;
  keys.reserve(packed.ids.size());
  for (int b = 0; b < packed.sentences(); ++b) {
    const auto s = static_cast<size_t>(b);
    const uint64_t base = hash_words(seed, update, static_cast<uint64_t>(side), packed.sentence[s]);
    for (int32_t t = 0; t < packed.length[s]; ++t) {
      const auto row = static_cast<size_t>(packed.begin[s] + t);
      keys.push_back(static_cast<uint32_t>(hash_words(base, packed.position[row]) >> 32));
    }
  }
  return keys;
}

}  // namespace jumok
