#include "translate/decode.h"

#include <algorithm>
#include <numeric>

#include "search/beam.h"
#include "search/greedy.h"
#include "text/subwords.h"

namespace jumok {
namespace {

// However short, a sentence takes a cache slot and a row of logits for each hypothesis: it counts at least so many symbols, or a list of
// single words would want gigabytes.
constexpr int64_t kFewestRows = 16;
// Cache and logits are a hypothesis' each: of a wider beam than this, batches are smaller in proportion.
constexpr int64_t kWideBeam = 8;

std::vector<std::vector<Hypothesis>> search_batch(const EncoderDecoder& model, const float* parameters, const PackedRows& source,
                                                  const SearchOptions& options) {
  const auto stepper = model.start(parameters, source);
  if (options.beam > 1) return beam_search(*stepper, options);
  std::vector<std::vector<Hypothesis>> lists;
  for (Hypothesis& h : greedy_search(*stepper, options)) lists.push_back({std::move(h)});
  return lists;
}

}  // namespace

SearchOptions translation_search() {
  SearchOptions options;
  options.start = kStart;
  options.end = kEnd;
  options.unknown = kUnknown;
  return options;
}

std::vector<int32_t> never_produced() { return {kStart, kUnknown}; }

std::vector<std::vector<int32_t>> decoding_batches(const std::vector<std::vector<int32_t>>& sources, int64_t tokens) {
  std::vector<int32_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return sources[a].size() > sources[b].size(); });
  std::vector<std::vector<int32_t>> batches;
  int64_t used = 0;
  for (const int32_t i : order) {
    const int64_t rows = std::max(static_cast<int64_t>(sources[i].size()) + 1, kFewestRows);
    if (batches.empty() || used + rows > tokens) {
      batches.emplace_back();
      used = 0;
    }
    batches.back().push_back(i);
    used += rows;
  }
  return batches;
}

std::vector<std::vector<Hypothesis>> decode(const EncoderDecoder& model, const float* parameters,
                                            const std::vector<std::vector<int32_t>>& sources, const DecodeOptions& options,
                                            Workers& workers) {
  const int64_t tokens = options.batch_tokens * kWideBeam / std::max<int64_t>(options.search.beam, kWideBeam);
  const auto batches = decoding_batches(sources, tokens);
  std::vector<std::vector<Hypothesis>> results(sources.size());
  workers.run(static_cast<int>(batches.size()), [&](int b, int) {
    std::vector<std::vector<int32_t>> batch;
    for (const int32_t i : batches[b]) batch.push_back(sources[i]);
    auto lists = search_batch(model, parameters, pack_source(batch), options.search);
    for (size_t k = 0; k < lists.size(); ++k) results[batches[b][k]] = std::move(lists[k]);
  });
  return results;
}

}  // namespace jumok
