// Which sentences meet in which update, lane and micro-batch. Pure functions: the same arguments give the same plan on any machine.
// Lengths and costs are always indexed by sentence number (of the corpus), lists hold sentence numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace jumok {

struct BatchOptions {
  // Most target tokens of a batch, one end symbol a sentence included. A longer sentence is a batch of its own.
  int64_t batch_tokens = 4096;
  // Sentences are sorted by length within pools of about this many batches: more gives likelier lengths, fewer a better mixed order.
  int pool_batches = 64;
  // Most sentences of a batch; 0: no limit.
  int max_sentences = 0;
};

// The batches of one epoch, in the order of their updates. Every sentence is in exactly one of them, incomplete batches included; sentences
// of like target (then source) length meet. The order is another one for each (seed, epoch).
std::vector<std::vector<int32_t>> plan_epoch(std::span<const int32_t> source_lengths, std::span<const int32_t> target_lengths,
                                             const BatchOptions& options, uint64_t seed, int64_t epoch);

// Deals a batch to `lanes` lists of nearly equal summed cost (longest first to the least loaded lane, Graham 1969: at most 4/3 of the
// best). Depends on the set of sentences and their costs, not on the order in `batch`. Each lane's list falls in cost, so like lengths stay
// together. A lane may be empty.
std::vector<std::vector<int32_t>> split_lanes(std::span<const int32_t> batch, std::span<const int64_t> costs, int lanes);

// Cuts a lane, in order, into micro-batches of at most max_rows rows (the sum of lengths[sentence] + 1), each of at least one sentence.
std::vector<std::vector<int32_t>> split_rows(std::span<const int32_t> lane, std::span<const int32_t> lengths, int64_t max_rows);

}  // namespace jumok
