// The loop of every search that follows one path per sentence: greedy search and sampling.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "models/stepper.h"
#include "search/hypothesis.h"

namespace jumok {

// Picks the next symbol of a sentence from logits [V], in which symbols that may not be produced are -inf; at least one is not.
// `length` is the number of new symbols so far.
using Choose = std::function<int32_t(int sentence, int length, std::span<const float> logits)>;

// Extends one hypothesis per sentence by choose() until the end symbol or the length limit; finished sentences leave the batch. Log P is
// the model's, whatever the choice was made from. Uses neither `beam` nor `nbest`. Returns one hypothesis per sentence.
std::vector<Hypothesis> single_path(Stepper& model, const SearchOptions& options, Prefixes prefixes, const Choose& choose);

}  // namespace jumok
