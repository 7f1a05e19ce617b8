#include "kernels/softmax.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct MaxAndSum {
  float max, sum;
};
struct MaxAndSumLanes {
  V32 max, sum;
};

// The largest value of a row, and the plain sum of all. Where the row holds a NaN, the sum is NaN, the largest value may be anything.
HWY_INLINE MaxAndSum row_max(const float* x, int64_t n) {
  const F32 d;
  const V32 lowest = hn::Set(d, -kInfinity);
  const auto step = [&](auto part, int64_t c, MaxAndSumLanes& row) HWY_ATTR {
    const V32 v = part.load(d, x + c);
    row.max = hn::Max(row.max, part.rest(d, v, lowest));
    row.sum = hn::Add(row.sum, v);
  };
  const auto merge = [](const MaxAndSumLanes& a, const MaxAndSumLanes& b) HWY_ATTR {
    return MaxAndSumLanes{hn::Max(a.max, b.max), hn::Add(a.sum, b.sum)};
  };
  const MaxAndSumLanes row = fold_columns(d, n, MaxAndSumLanes{lowest, hn::Zero(d)}, step, merge);
  return {hn::GetLane(hn::MaxOfLanes(d, row.max)), hn::GetLane(hn::SumOfLanes(d, row.sum))};
}

// Σ exp(x - max), the exponentials stored to y unless it is null.
HWY_INLINE float exp_row(const float* x, int64_t n, float max, float* y) {
  const F32 d;
  const V32 m = hn::Set(d, max);
  return sum_columns(d, n, [&](auto part, int64_t c) HWY_ATTR {
    const V32 e = Exp(d, hn::Sub(part.load(d, x + c), m));
    if (y) part.store(d, e, y + c);
    return e;
  });
}

void Softmax(ConstRows x, Rows y) {
  const F32 d;
  for (int64_t r = 0; r < y.rows; ++r) {
    const MaxAndSum row = row_max(x.row(r), y.columns);
    float* out = y.row(r);
    if (row.max == -kInfinity) {  // nothing but -inf, or NaN among them
      std::fill_n(out, y.columns, std::isnan(row.sum) ? row.sum : 0.0f);
      continue;
    }
    const V32 scale = hn::Set(d, 1.0f / exp_row(x.row(r), y.columns, row.max, out));
    for_columns(d, y.columns, [&](auto part, int64_t c) HWY_ATTR { part.store(d, hn::Mul(part.load(d, out + c), scale), out + c); });
  }
}

void LogSumExp(ConstRows x, float* lse) {
  for (int64_t r = 0; r < x.rows; ++r) {
    const MaxAndSum row = row_max(x.row(r), x.columns);
    if (row.max == -kInfinity) {
      lse[r] = std::isnan(row.sum) ? row.sum : -kInfinity;
    } else {
      lse[r] = row.max + std::log(exp_row(x.row(r), x.columns, row.max, nullptr));
    }
  }
}

void CrossEntropy(Rows logits, const int32_t* targets, float smoothing, bool gradient, CrossEntropySums& sums) {
  const F32 d;
  const int64_t columns = logits.columns;
  const float uniform = smoothing / static_cast<float>(columns);  // ε/V
  for (int64_t r = 0; r < logits.rows; ++r) {
    float* x = logits.row(r);
    const int32_t target = targets[r];
    assert(target >= 0 && target < columns);
    const MaxAndSum row = row_max(x, columns);
    const double logit = x[target];
    const float sum = exp_row(x, columns, row.max, gradient ? x : nullptr);
    const double lse = static_cast<double>(row.max) + std::log(static_cast<double>(sum));
    const double nll = lse - logit;
    sums.nll += nll;
    // (1 - ε)(lse - x_t) + ε (lse - mean(x)): the same loss as two differences, which keeps the digits.
    sums.loss +=
        smoothing == 0 ? nll : (1.0 - smoothing) * nll + smoothing * (lse - static_cast<double>(row.sum) / static_cast<double>(columns));
    if (!gradient) continue;
    const V32 scale = hn::Set(d, 1.0f / sum), shift = hn::Set(d, uniform);
    for_columns(d, columns, [&](auto part, int64_t c) HWY_ATTR { part.store(d, hn::MulSub(part.load(d, x + c), scale, shift), x + c); });
    x[target] -= 1.0f - smoothing;
  }
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {

HWY_EXPORT(Softmax);
HWY_EXPORT(LogSumExp);
HWY_EXPORT(CrossEntropy);

void softmax(ConstRows x, Rows y) { HWY_DYNAMIC_DISPATCH(Softmax)(x, y); }
void log_sum_exp(ConstRows x, float* lse) { HWY_DYNAMIC_DISPATCH(LogSumExp)(x, lse); }
void cross_entropy(Rows logits, const int32_t* targets, float smoothing, bool gradient, CrossEntropySums& sums) {
  HWY_DYNAMIC_DISPATCH(CrossEntropy)(logits, targets, smoothing, gradient, sums);
}

}  // namespace jumok::kernels
#endif  // HWY_ONCE
