// Sampling: the next symbol drawn at random from the model's distribution, or from its likely part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/stepper.h"
#include "search/hypothesis.h"

namespace jumok {

struct SamplingOptions {
  double temperature = 1;  // logits are divided by it; > 0
  int top_k = 0;           // draw from the k most probable symbols only (Fan 2018); 0: from all
  double top_p = 1;        // then from the fewest of those whose probability reaches p (nucleus, Holtzman 2020); in (0, 1]
};

// One hypothesis per sentence, drawn with its own seed: seeds [sentences]. A draw depends on the seed, the position and the logits alone,
// not on the batch. log_prob and score are the model's, without temperature, k and p. Ignores `beam` and `nbest`. Throws Error on options
// out of range.
std::vector<Hypothesis> sample(Stepper& model, const SearchOptions& options, const SamplingOptions& sampling,
                               std::span<const uint64_t> seeds, Prefixes prefixes = {});

}  // namespace jumok
