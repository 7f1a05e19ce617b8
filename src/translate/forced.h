// Forced decoding: what the model thinks of given pairs, and what it attends to on the way.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/workers.h"
#include "models/encoder_decoder.h"

namespace jumok {

// A pair as symbols, without start and end.
struct SymbolPair {
  std::vector<int32_t> source, target;
};

struct Forced {
  double log_prob = 0;  // of the target and its end symbol
  // The maps asked for; each holds this pair alone: weights[head], [T, S] with the end symbols.
  std::vector<AttentionMaps::Map> maps;
};

struct ForcedOptions {
  bool maps = false;
  bool parts = false;              // with maps: also the queries, keys and values they came from
  std::string only;                // the one attention wanted, by name; empty: all
  std::vector<int32_t> forbidden;  // symbols left out of the normalisation, as the search leaves them out
  int64_t batch_rows = 2048;       // most rows of either side computed at once
  // Of force_in_turn: about the most weights there at once, a pair with more apart. 256 MB.
  int64_t most_weights = int64_t{1} << 26;
};

// In the order of the pairs; a pair's bits depend neither on the others nor on the number of workers.
std::vector<Forced> force(const EncoderDecoder& model, const float* parameters, const std::vector<SymbolPair>& pairs,
                          const ForcedOptions& options, Workers& workers);

// The same for calls of many pairs: as many at once as memory is kept for the weights of (with options.maps). `take` gets pair by pair, in
// order, and what it leaves in `forced` is thrown away.
using TakeForced = std::function<void(size_t pair, Forced& forced)>;
void force_in_turn(const EncoderDecoder& model, const float* parameters, const std::vector<SymbolPair>& pairs, const ForcedOptions& options,
                   Workers& workers, const TakeForced& take);

// Weight matrices that a pair has with options.maps, attentions × heads, as a pair of empty sentences shows: not every mechanism has the
// heads that the configuration speaks of.
int count_matrices(const EncoderDecoder& model, const float* parameters, const ForcedOptions& options, Workers& workers);

}  // namespace jumok
