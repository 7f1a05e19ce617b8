// Encoded sentence pairs in flat storage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/workers.h"
#include "text/subwords.h"

namespace jumok {

struct CorpusOptions {
  // Longest side kept, in pieces, the end symbol not counted.
  int max_length = 256;
  // Of build_text: a longer sentence becomes several of max_length pieces (the last one of the rest) instead of being left out.
  bool cut = false;
};

// What became of the pairs: read = kept + empty + too_long. A sentence that is cut counts in `cut`, and each of its parts in `kept`.
struct CorpusCounts {
  int64_t read = 0, kept = 0;
  int64_t empty = 0;     // a side without a piece
  int64_t too_long = 0;  // a side longer than max_length
  int64_t cut = 0;
};

// The sentences of one side back to back: sentence i is ids[offsets[i], offsets[i + 1]).
struct FlatSentences {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets{0};
  int size() const { return static_cast<int>(offsets.size()) - 1; }
  std::span<const int32_t> operator[](int i) const {
    return {ids.data() + offsets[static_cast<size_t>(i)], ids.data() + offsets[static_cast<size_t>(i) + 1]};
  }
  void add(std::span<const int32_t> sentence);
};

// Sentence pairs (or, for language models, sentences) as ids, without start and end symbols.
class ParallelCorpus {
 public:
  // source_lines and target_lines hold equally many lines (Error otherwise). Threads of `workers`, when given, share the encoding; the
  // result is the same.
  struct Text {
    std::span<const std::string> source_lines, target_lines;
    const Subwords& source_subwords;
    const Subwords& target_subwords;
  };
  static ParallelCorpus build(const Text& text, const CorpusOptions& options = {}, Workers* workers = nullptr);
  // One text only: its sentences are the targets, every source is empty.
  static ParallelCorpus build_text(std::span<const std::string> lines, const Subwords& subwords, const CorpusOptions& options = {},
                                   Workers* workers = nullptr);

  // From symbols as they are, empty sentences too; equally many of both (Error otherwise).
  static ParallelCorpus from_symbols(std::span<const std::vector<int32_t>> sources, std::span<const std::vector<int32_t>> targets);

  int size() const { return target_.size(); }
  std::span<const int32_t> source(int i) const { return source_[i]; }
  std::span<const int32_t> target(int i) const { return target_[i]; }
  // Where pair i stood among the lines, from 0.
  int64_t line(int i) const { return lines_[static_cast<size_t>(i)]; }
  // [size()] pieces of each sentence, the end symbol not counted.
  const std::vector<int32_t>& source_lengths() const { return source_lengths_; }
  const std::vector<int32_t>& target_lengths() const { return target_lengths_; }
  std::vector<int32_t> longer_lengths() const;  // [size()] of each pair's longer side: what bounds the memory of a batch
  const CorpusCounts& counts() const { return counts_; }
  // A hash of every id and every length: training resumed on other data is refused by it.
  uint64_t fingerprint() const;

 private:
  void keep(std::span<const int32_t> source, std::span<const int32_t> target, int64_t line);
  void add(std::span<const int32_t> source, std::span<const int32_t> target, int64_t line, const CorpusOptions& options, bool needs_source);

  FlatSentences source_, target_;
  std::vector<int64_t> lines_;
  std::vector<int32_t> source_lengths_, target_lengths_;
  CorpusCounts counts_;
};

}  // namespace jumok
