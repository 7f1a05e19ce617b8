// Searches the translations of many encoded sources: batches of like length, a worker a batch, results in input order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/workers.h"
#include "models/encoder_decoder.h"
#include "search/hypothesis.h"

namespace jumok {

struct DecodeOptions {
  SearchOptions search;
  int64_t batch_tokens = 2048;  // source symbols of a batch, fewer with a beam above 8; a longer source is a batch of its own
};

// n-best lists of `sources` (ids without end symbol, none empty), [sources]. A source's result depends neither on the batches nor on the
// number of workers.
std::vector<std::vector<Hypothesis>> decode(const EncoderDecoder& model, const float* parameters,
                                            const std::vector<std::vector<int32_t>>& sources, const DecodeOptions& options,
                                            Workers& workers);

// Sources in batches of at most `tokens` symbols (one end symbol each; a sentence counts at least 16), longest first; each list holds
// source numbers.
std::vector<std::vector<int32_t>> decoding_batches(const std::vector<std::vector<int32_t>>& sources, int64_t tokens);

// The search options every translation starts from: the special symbols of the vocabulary.
SearchOptions translation_search();
// The symbols that such a search never produces.
std::vector<int32_t> never_produced();

}  // namespace jumok
