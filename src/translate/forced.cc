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

void force_batch(const EncoderDecoder& model, Context& context, const std::vector<SymbolPair>& pairs, const std::vector<int32_t>& batch,
                 const ForcedOptions& options, std::vector<Forced>& results) {
  const size_t longest = static_cast<size_t>(model.config().max_positions) - 1;
  std::vector<std::vector<int32_t>> sources, targets;
  for (const int32_t i : batch) {
    check(pairs[i].source.size() <= longest && pairs[i].target.size() <= longest, "pair {}: {} and {} symbols, the model takes {}", i,
          pairs[i].source.size(), pairs[i].target.size(), longest);
    sources.push_back(pairs[i].source);
    targets.push_back(pairs[i].target);
  }
  const PackedRows source = pack_source(sources);
  const PackedTarget target = pack_target(targets);
  PairBatch pair_batch{source, target};
  AttentionMaps maps;
  maps.only = options.only;
  maps.parts = options.parts;
  if (options.maps) pair_batch.maps = &maps;
  pair_batch.forbidden = options.forbidden;
  std::vector<float> nll(target.labels.size());
  model.nll(context, pair_batch, nll.data());
  for (size_t b = 0; b < batch.size(); ++b) {
    double sum = 0;
    for (int32_t t = 0; t < target.input.length[b]; ++t) sum += nll[target.input.begin[b] + t];
    results[batch[b]].log_prob = -sum;
  }
  keep_maps(maps, batch, results);
}

}  // namespace

std::vector<Forced> force(const EncoderDecoder& model, const float* parameters, const std::vector<SymbolPair>& pairs,
                          const ForcedOptions& options, Workers& workers) {
  const auto batches = batches_of(pairs, options.batch_rows);
  std::vector<Forced> results(pairs.size());
  std::vector<Arena> arenas(workers.size());
  workers.run(static_cast<int>(batches.size()), [&](int b, int worker) {
    arenas[worker].reset();
    Context context{arenas[worker], parameters};
    force_batch(model, context, pairs, batches[b], options, results);
  });
  return results;
}

}  // namespace jumok
