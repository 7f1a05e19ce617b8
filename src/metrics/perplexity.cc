#include <jumok/metrics.h>

#include <cmath>

#include "base/error.h"

namespace jumok {

// exp(-1/N Σ log p)
double perplexity(double nll_sum, int64_t tokens) {
  check(tokens > 0, "perplexity: expected at least one token, found {}", tokens);
  return std::exp(nll_sum / static_cast<double>(tokens));
}

}  // namespace jumok
