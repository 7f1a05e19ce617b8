#include "data/parallel_corpus.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"

namespace jumok {
namespace {

constexpr size_t kBlock = 256;  // lines a task: long enough to hide the hand-out, short enough to balance
constexpr size_t kWindow = 64;  // blocks in flight: bounds the unpacked ids held at once

using Block = std::vector<std::vector<int32_t>>;

Block encode_block(std::span<const std::string> lines, const Subwords& subwords) {
  Block block;
  block.reserve(lines.size());
  for (const auto& line : lines) block.push_back(subwords.encode(line).ids);
  return block;
}

// Calls take(i, source ids, target ids) for every line i in order; without source lines, source ids are empty.
template <typename Take>
void encode_lines(std::span<const std::string> source, const Subwords* source_subwords, std::span<const std::string> target,
                  const Subwords& target_subwords, Workers& workers, Take take) {
  const auto block_of = [](std::span<const std::string> lines, size_t block) {
    const size_t begin = std::min(block * kBlock, lines.size());
    return lines.subspan(begin, std::min(kBlock, lines.size() - begin));
  };
  const size_t blocks = (target.size() + kBlock - 1) / kBlock;
  for (size_t first = 0; first < blocks; first += kWindow) {
    const size_t count = std::min(kWindow, blocks - first);
    std::vector<Block> sources(count), targets(count);
    workers.run(static_cast<int>(2 * count), [&](int task, int) {
      const size_t k = static_cast<size_t>(task) / 2;
      if (task % 2 == 1) {
        targets[k] = encode_block(block_of(target, first + k), target_subwords);
      } else if (source_subwords != nullptr) {
        sources[k] = encode_block(block_of(source, first + k), *source_subwords);
      }
    });
    for (size_t k = 0; k < count; ++k) {
      for (size_t j = 0; j < targets[k].size(); ++j) {
        take((first + k) * kBlock + j, source_subwords != nullptr ? sources[k][j] : std::vector<int32_t>{}, targets[k][j]);
      }
    }
  }
}

uint64_t hash_side(uint64_t key, const FlatSentences& side) {
  for (int i = 0; i < side.size(); ++i) {
    key = hash_words(key, side[i].size());
    for (const int32_t id : side[i]) key = hash_words(key, id);
  }
  return key;
}

}  // namespace

void FlatSentences::add(std::span<const int32_t> sentence) {
  ids.insert(ids.end(), sentence.begin(), sentence.end());
  offsets.push_back(static_cast<int64_t>(ids.size()));
}

void ParallelCorpus::add(std::span<const int32_t> source, std::span<const int32_t> target, int64_t line, const CorpusOptions& options,
                         bool needs_source) {
  ++counts_.read;
  if (target.empty() || (needs_source && source.empty())) {
    ++counts_.empty;
    return;
  }
  const auto limit = static_cast<size_t>(options.max_length);
  if (options.cut && !needs_source && target.size() > limit) {
    ++counts_.cut;
    for (size_t begin = 0; begin < target.size(); begin += limit)
      keep({}, target.subspan(begin, std::min(limit, target.size() - begin)), line);
    return;
  }
  if (source.size() > limit || target.size() > limit) {
    ++counts_.too_long;
    return;
  }
  keep(source, target, line);
}

void ParallelCorpus::keep(std::span<const int32_t> source, std::span<const int32_t> target, int64_t line) {
  ++counts_.kept;
  source_.add(source);
  target_.add(target);
  lines_.push_back(line);
  source_lengths_.push_back(static_cast<int32_t>(source.size()));
  target_lengths_.push_back(static_cast<int32_t>(target.size()));
}

ParallelCorpus ParallelCorpus::from_symbols(std::span<const std::vector<int32_t>> sources, std::span<const std::vector<int32_t>> targets) {
  check(sources.size() == targets.size(), "parallel symbols: expected equally many sentences, found {} and {}", sources.size(),
        targets.size());
  ParallelCorpus corpus;
  corpus.counts_.read = static_cast<int64_t>(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) corpus.keep(sources[i], targets[i], static_cast<int64_t>(i));
  return corpus;
}

ParallelCorpus ParallelCorpus::build(const Text& text, const CorpusOptions& options, Workers* workers) {
  check(text.source_lines.size() == text.target_lines.size(), "parallel text: expected equally many lines, found {} and {}",
        text.source_lines.size(), text.target_lines.size());
  check(options.max_length > 0, "max-length: expected a number above 0, found {}", options.max_length);
  ParallelCorpus corpus;
  Workers alone(1);
  encode_lines(text.source_lines, &text.source_subwords, text.target_lines, text.target_subwords, workers != nullptr ? *workers : alone,
               [&](size_t line, std::span<const int32_t> source, std::span<const int32_t> target) {
                 corpus.add(source, target, static_cast<int64_t>(line), options, true);
               });
  return corpus;
}

ParallelCorpus ParallelCorpus::build_text(std::span<const std::string> lines, const Subwords& subwords, const CorpusOptions& options,
                                          Workers* workers) {
  check(options.max_length > 0, "max-length: expected a number above 0, found {}", options.max_length);
  ParallelCorpus corpus;
  Workers alone(1);
  encode_lines({}, nullptr, lines, subwords, workers != nullptr ? *workers : alone,
               [&](size_t line, std::span<const int32_t> source, std::span<const int32_t> target) {
                 corpus.add(source, target, static_cast<int64_t>(line), options, false);
               });
  return corpus;
}

std::vector<int32_t> ParallelCorpus::longer_lengths() const {
  std::vector<int32_t> longer(source_lengths_.size());
  std::transform(source_lengths_.begin(), source_lengths_.end(), target_lengths_.begin(), longer.begin(),
                 [](int32_t a, int32_t b) { return std::max(a, b); });
  return longer;
}

uint64_t ParallelCorpus::fingerprint() const { return hash_side(hash_side(hash_words(static_cast<uint64_t>(size())), source_), target_); }

}  // namespace jumok
