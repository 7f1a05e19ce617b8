#include "search/greedy.h"

#include "kernels/top_k.h"
#include "search/single_path.h"

namespace jumok {
namespace {

int32_t most_probable(std::span<const float> logits) {
  int32_t symbol = 0;
  float value = 0;
  kernels::top_k(logits.data(), static_cast<int64_t>(logits.size()), 1, &symbol, &value);
  return symbol;
}

}  // namespace

std::vector<Hypothesis> greedy_search(Stepper& model, const SearchOptions& options, Prefixes prefixes) {
  return single_path(model, options, prefixes, [](int, int, std::span<const float> logits) { return most_probable(logits); });
}

}  // namespace jumok
