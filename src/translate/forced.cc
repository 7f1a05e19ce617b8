#include "translate/forced.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "data/batches.h"
#include "tensor/arena.h"

namespace jumok {
namespace {

// Batches of like length, longest first; a pair counts by its longer side, so that long sources of short targets do not pile up in one
// batch.
std::vector<std::vector<int32_t>> batches_of(const std::vector<SymbolPair>& pairs, int64_t rows) {
  std::vector<int32_t> order(pairs.size()), lengths;
  std::iota(order.begin(), order.end(), 0);
  for (const SymbolPair& p : pairs) lengths.push_back(static_cast<int32_t>(std::max(p.source.size(), p.target.size())));
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return lengths[a] > lengths[b]; });
  return split_rows(order, lengths, rows);
}

void keep_maps(AttentionMaps& maps, const std::vector<int32_t>& batch, std::vector<Forced>& results) {
  for (AttentionMaps::Map& map : maps.maps) {
    for (size_t b = 0; b < batch.size(); ++b) {
      const auto first = map.weights.begin() + static_cast<int64_t>(b) * map.heads;
      AttentionMaps::Map own{map.name, map.heads, {std::make_move_iterator(first), std::make_move_iterator(first + map.heads)}, {}};
      if (!map.parts.empty()) own.parts.push_back(std::move(map.parts[b]));
      results[batch[b]].maps.push_back(std::move(own));
    }
  }
}

// What batches are computed from and into.
struct Work {
  const EncoderDecoder& model;
  const std::vector<SymbolPair>& pairs;
  const ForcedOptions& options;
  std::vector<Forced>& results;  // one a pair
};

void force_batch(const Work& work, Context& context, const std::vector<int32_t>& batch) {
  const size_t longest = static_cast<size_t>(work.model.config().max_positions) - 1;
  std::vector<std::vector<int32_t>> sources, targets;
  for (const int32_t i : batch) {
    const SymbolPair& pair = work.pairs[i];
    check(pair.source.size() <= longest && pair.target.size() <= longest, "pair {}: {} and {} symbols, the model takes {}", i,
          pair.source.size(), pair.target.size(), longest);
    sources.push_back(pair.source);
    targets.push_back(pair.target);
  }
  const PackedRows source = pack_source(sources);
  const PackedTarget target = pack_target(targets);
  PairBatch pair_batch{source, target};
  AttentionMaps maps;
  maps.only = work.options.only;
  maps.parts = work.options.parts;
  if (work.options.maps) pair_batch.maps = &maps;
  pair_batch.forbidden = work.options.forbidden;
  std::vector<float> nll(target.labels.size());
  work.model.nll(context, pair_batch, nll.data());
  for (size_t b = 0; b < batch.size(); ++b) {
    double sum = 0;
    for (int32_t t = 0; t < target.input.length[b]; ++t) sum += nll[target.input.begin[b] + t];
    work.results[batch[b]].log_prob = -sum;
  }
  keep_maps(maps, batch, work.results);
}

}  // namespace

std::vector<Forced> force(const EncoderDecoder& model, const float* parameters, const std::vector<SymbolPair>& pairs,
                          const ForcedOptions& options, Workers& workers) {
  const auto batches = batches_of(pairs, options.batch_rows);
  std::vector<Forced> results(pairs.size());
  const Work work{model, pairs, options, results};
  std::vector<Arena> arenas(workers.size());
  workers.run(static_cast<int>(batches.size()), [&](int b, int worker) {
    arenas[worker].reset();
    Context context{arenas[worker], parameters};
    force_batch(work, context, batches[b]);
  });
  return results;
}

int count_matrices(const EncoderDecoder& model, const float* parameters, const ForcedOptions& options, Workers& workers) {
  const std::vector<Forced> empty = force(model, parameters, {SymbolPair{}}, options, workers);
  int matrices = 0;
  for (const AttentionMaps::Map& map : empty.front().maps) matrices += map.heads;
  return matrices;
}

void force_in_turn(const EncoderDecoder& model, const float* parameters, const std::vector<SymbolPair>& pairs, const ForcedOptions& options,
                   Workers& workers, const TakeForced& take) {
  if (pairs.empty()) return;
  const int64_t matrices = options.maps ? count_matrices(model, parameters, options, workers) : 0;
  for (auto begin = pairs.begin(), end = begin; begin != pairs.end(); begin = end) {
    for (int64_t weights = 0; end != pairs.end(); ++end) {
      const auto side = static_cast<int64_t>(std::max(end->source.size(), end->target.size())) + 1;
      weights += side * side * matrices;
      if (end != begin && weights > options.most_weights) break;
    }
    std::vector<Forced> forced = force(model, parameters, std::vector<SymbolPair>(begin, end), options, workers);
    for (size_t k = 0; k < forced.size(); ++k) {
      take(static_cast<size_t>(begin - pairs.begin()) + k, forced[k]);
      forced[k] = {};
    }
  }
}

}  // namespace jumok
