#include "kernels/ref/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace jumok::kernels::ref {

int top_k(const float* x, int64_t n, int k, int32_t* columns, float* values) {
  const auto value = [&](int32_t c) { return std::isnan(x[c]) ? -std::numeric_limits<float>::infinity() : x[c]; };
  std::vector<int32_t> order(static_cast<size_t>(std::max<int64_t>(n, 0)));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return value(a) > value(b); });
  const int count = static_cast<int>(std::clamp<int64_t>(k, 0, static_cast<int64_t>(order.size())));
  for (int i = 0; i < count; ++i) {
    columns[i] = order[i];
    values[i] = value(order[i]);
  }
  return count;
}

}  // namespace jumok::kernels::ref
