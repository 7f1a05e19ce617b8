// Length normalisation, and the bound that says when a search may end.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/stepper.h"

namespace jumok {

// The most new symbols of an output, the end symbol included: `max_length`, or 2·S + 10 where that is 0; never more than the model can be
// fed, of which `prefix` forced symbols take their part. Throws Error where they leave no room.
inline int length_limit(int max_length, const Stepper& model, int sentence, size_t prefix) {
  const int longest = model.longest_target();
  check(prefix < static_cast<size_t>(longest), "search: expected a prefix of fewer than {} symbols, found {}", longest, prefix);
  return std::min(max_length > 0 ? max_length : 2 * model.source_length(sentence) + 10, longest - static_cast<int>(prefix));
}

//   score = log P / length^α
// `length` counts the new tokens and the end symbol, >= 1; α >= 0.
inline double length_score(double log_prob, int length, double alpha) { return log_prob / std::pow(length, alpha); }

// The best score that any continuation of an open hypothesis can reach: log P / limit^α.
// Proof. A continuation has log P' = log P + Σ log p <= log P <= 0, since no p exceeds 1, and a length n with 1 <= n <= limit. As α >= 0,
// 0 < n^α <= limit^α, and dividing a number <= 0 by a larger divisor brings it closer to 0:  log P' / n^α <= log P / n^α <= log P /
// limit^α. The bound is reached by a continuation that is certain (p = 1) and as long as allowed; a tighter one would need to know the
// model.
inline double best_reachable_score(double log_prob, int limit, double alpha) { return length_score(log_prob, limit, alpha); }

}  // namespace jumok
