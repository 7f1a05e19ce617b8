// Beam search (Sutskever 2014 §3.2, eq. 2; Bahdanau 2015 §4.2) with length normalisation and an exact end.
#pragma once

#include <vector>

#include "models/stepper.h"
#include "search/hypothesis.h"

namespace jumok {

// Each sentence has `beam` places, taken by open and by finished hypotheses. A step extends the open ones by every symbol and gives the
// free places to the most probable results (equal log P: the better parent first, then the lower symbol). A result that ends in the end
// symbol, or that has reached the length limit (it is marked `cut`), keeps its place until the end. The search of a sentence ends when no
// place is open, or when no open hypothesis can reach a score above the n-th best finished one any more (best_reachable_score), never just
// because the best of a step has ended; the sentence then leaves the batch. What a sentence gives depends on no other sentence, and its
// best hypothesis not on `nbest`.
//
// Returns for each sentence its n-best list: scores falling, no two with the same symbols, `nbest` of them (fewer only where fewer symbol
// sequences exist). Sources must not be empty. Throws Error on options or prefixes out of range.
std::vector<std::vector<Hypothesis>> beam_search(Stepper& model, const SearchOptions& options, Prefixes prefixes = {});

}  // namespace jumok
