#include "kernels/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/top_k.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

// Puts (column, value) behind all entries that are at least as large, in a list of `count`; the last entry falls off when the list is full
// (size = k).
HWY_INLINE void insert(int32_t column, float value, int& count, int k, int32_t* columns, float* values) {
  int at = count < k ? count++ : k - 1;
  for (; at > 0 && values[at - 1] < value; --at) {
    values[at] = values[at - 1];
    columns[at] = columns[at - 1];
  }
  values[at] = value;
  columns[at] = column;
}

// Only a value above the k-th best so far changes the list, which is rare after the first hundreds: four vectors are compared at a time,
// and only a hit is looked at closely. A NaN compares false.
int TopK(const float* x, int64_t n, int k, int32_t* columns, float* values) {
  const F32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int count = 0;
  int64_t c = 0;
  for (; c < std::min<int64_t>(k, n); ++c) {
    insert(static_cast<int32_t>(c), std::isnan(x[c]) ? -std::numeric_limits<float>::infinity() : x[c], count, k, columns, values);
  }
  const auto look = [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) {
      if (x[i] > values[k - 1]) insert(static_cast<int32_t>(i), x[i], count, k, columns, values);
    }
  };
  for (; c + 4 * lanes <= n; c += 4 * lanes) {
    const V32 bar = hn::Set(d, values[k - 1]);
    const auto above01 = hn::Or(hn::Gt(hn::LoadU(d, x + c), bar), hn::Gt(hn::LoadU(d, x + c + lanes), bar));
    const auto above23 = hn::Or(hn::Gt(hn::LoadU(d, x + c + 2 * lanes), bar), hn::Gt(hn::LoadU(d, x + c + 3 * lanes), bar));
    if (!hn::AllFalse(d, hn::Or(above01, above23))) look(c, c + 4 * lanes);
  }
  look(c, n);
  return count;
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {

HWY_EXPORT(TopK);

int top_k(const float* x, int64_t n, int k, int32_t* columns, float* values) {
  if (k <= 0 || n <= 0) return 0;
  return HWY_DYNAMIC_DISPATCH(TopK)(x, n, k, columns, values);
}

}  // namespace jumok::kernels
#endif  // HWY_ONCE
