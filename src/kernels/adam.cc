#include "kernels/adam.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adam.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

constexpr int64_t kChunk = 512;  // elements summed at a time: eight of them and the levels of the tree stay in L1

// out[0, n) = the tree sum of elements [offset, offset + n) of the blocks. out may be blocks[0] + offset: it is written last where it is
// read.
void sum_tree(float* const* blocks, int count, int64_t offset, int64_t n, float* out) {
  const F32 d;
  if (count == 1) {
    if (out != blocks[0] + offset) std::copy_n(blocks[0] + offset, n, out);
    return;
  }
  // The left half of a tree over `count` leaves is the largest power of two below it.
  const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
  const float *a = blocks[0] + offset, *b = blocks[left] + offset;
  float right[kChunk];
  if (left > 1) {
    sum_tree(blocks, left, offset, n, out);
    a = out;
  }
  if (count - left > 1) {
    sum_tree(blocks + left, count - left, offset, n, right);
    b = right;
  }
  for_columns(d, n, [&](auto part, int64_t c) HWY_ATTR { part.store(d, hn::Add(part.load(d, a + c), part.load(d, b + c)), out + c); });
}

double SumLanes(float* const* blocks, int count, int64_t begin, int64_t end) {
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, hn::ScalableTag<double>> df;  // the f32 vector with as many lanes as a f64 vector
  double squares = 0;
  for (int64_t at = begin; at < end; at += kChunk) {
    const int64_t n = std::min(kChunk, end - at);
    float* out = blocks[0] + at;
    sum_tree(blocks, count, at, n, out);
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(dd));
    auto s0 = hn::Zero(dd), s1 = s0;
    int64_t c = 0;
    for (; c + 2 * lanes <= n; c += 2 * lanes) {
      const auto v0 = hn::PromoteTo(dd, hn::LoadU(df, out + c)), v1 = hn::PromoteTo(dd, hn::LoadU(df, out + c + lanes));
      s0 = hn::MulAdd(v0, v0, s0);
      s1 = hn::MulAdd(v1, v1, s1);
    }
    double rest = 0;
    for (; c < n; ++c) rest += static_cast<double>(out[c]) * static_cast<double>(out[c]);
    squares += hn::GetLane(hn::SumOfLanes(dd, hn::Add(s0, s1))) + rest;
  }
  return squares;
}

void Update(const Adam& o, int64_t n, float* parameters, float* m, float* v, const float* gradient) {
  const F32 d;
  const double step = static_cast<double>(o.step);
  const double correct1 = 1.0 - std::pow(static_cast<double>(o.beta1), step), correct2 = 1.0 - std::pow(static_cast<double>(o.beta2), step);
  const V32 scale = hn::Set(d, o.gradient_scale), beta1 = hn::Set(d, o.beta1), beta2 = hn::Set(d, o.beta2);
  const V32 rest1 = hn::Set(d, 1.0f - o.beta1), rest2 = hn::Set(d, 1.0f - o.beta2);
  const V32 rate = hn::Set(d, static_cast<float>(static_cast<double>(o.rate) / correct1));
  const V32 inverse2 = hn::Set(d, static_cast<float>(1.0 / correct2)), epsilon = hn::Set(d, o.epsilon);
  for_columns(d, n, [&](auto part, int64_t c) HWY_ATTR {
    const V32 g = hn::Mul(scale, part.load(d, gradient + c));
    const V32 first = hn::MulAdd(beta1, part.load(d, m + c), hn::Mul(rest1, g));
    const V32 second = hn::MulAdd(beta2, part.load(d, v + c), hn::Mul(rest2, hn::Mul(g, g)));
    const V32 change = hn::Div(first, hn::Add(hn::Sqrt(hn::Mul(second, inverse2)), epsilon));
    part.store(d, first, m + c);
    part.store(d, second, v + c);
    part.store(d, hn::NegMulAdd(rate, change, part.load(d, parameters + c)), parameters + c);
  });
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {

HWY_EXPORT(SumLanes);
HWY_EXPORT(Update);

double sum_lanes(float* const* blocks, int count, int64_t begin, int64_t end) {
  assert(count >= 1);
  return HWY_DYNAMIC_DISPATCH(SumLanes)(blocks, count, begin, end);
}
void adam(const Adam& options, int64_t n, float* parameters, float* m, float* v, const float* gradient) {
  assert(options.step >= 1);
  HWY_DYNAMIC_DISPATCH(Update)(options, n, parameters, m, v, gradient);
}

}  // namespace jumok::kernels
#endif  // HWY_ONCE
