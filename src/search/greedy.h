// Greedy search: the most probable symbol at every step.
#pragma once

#include <vector>

#include "models/stepper.h"
#include "search/hypothesis.h"

namespace jumok {

// One hypothesis per sentence; equal to beam_search with beam 1, bit for bit. Of equally probable symbols the lowest is taken. Ignores
// `beam` and `nbest`. Throws Error on options or prefixes out of range.
std::vector<Hypothesis> greedy_search(Stepper& model, const SearchOptions& options, Prefixes prefixes = {});

}  // namespace jumok
