#include "kernels/probe.h"

#include <algorithm>
#include <chrono>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/probe.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

// Twelve chains of multiply-adds: two units of four cycles' latency keep eight busy, and sixteen registers hold no more. Gives FLOPs done.
double FmaRound(float* sink) {
  const D d;
  constexpr int kSteps = 1000000;  // some milliseconds: a virtual machine's clock jumps now and then
  auto a = hn::Set(d, 1e-3f);
  // Each chain starts from its own number: equal ones would be computed once.
  auto v0 = a, v1 = hn::Add(v0, a), v2 = hn::Add(v1, a), v3 = hn::Add(v2, a), v4 = hn::Add(v3, a), v5 = hn::Add(v4, a);
  auto v6 = hn::Add(v5, a), v7 = hn::Add(v6, a), v8 = hn::Add(v7, a), v9 = hn::Add(v8, a), v10 = hn::Add(v9, a), v11 = hn::Add(v10, a);
  const auto m = hn::Set(d, 0.999f), c = hn::Set(d, sink[0]);
  for (int i = 0; i < kSteps; ++i) {
    v0 = hn::MulAdd(v0, m, c), v1 = hn::MulAdd(v1, m, c), v2 = hn::MulAdd(v2, m, c), v3 = hn::MulAdd(v3, m, c);
    v4 = hn::MulAdd(v4, m, c), v5 = hn::MulAdd(v5, m, c), v6 = hn::MulAdd(v6, m, c), v7 = hn::MulAdd(v7, m, c);
    v8 = hn::MulAdd(v8, m, c), v9 = hn::MulAdd(v9, m, c), v10 = hn::MulAdd(v10, m, c), v11 = hn::MulAdd(v11, m, c);
  }
  a = hn::Add(hn::Add(hn::Add(v0, v1), hn::Add(v2, v3)), hn::Add(hn::Add(v4, v5), hn::Add(v6, v7)));
  a = hn::Add(a, hn::Add(hn::Add(v8, v9), hn::Add(v10, v11)));
  hn::StoreU(a, d, sink);
  return 2.0 * 12 * kSteps * static_cast<double>(hn::Lanes(d));
}

// Bytes read.
double ReadRound(const float* data, int64_t n, float* sink) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, data + i));
    b = hn::Add(b, hn::LoadU(d, data + i + lanes));
    c = hn::Add(c, hn::LoadU(d, data + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, data + i + 3 * lanes));
  }
  hn::StoreU(hn::Add(hn::Add(a, b), hn::Add(c, e)), d, sink);
  return static_cast<double>(i) * sizeof(float);
}

// data <- f(data), again and again. Elements done.
template <class F>
HWY_INLINE double map_round(float* data, int64_t n, const F& f) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  double done = 0;
  for (int round = 0; round < 100; ++round) {
    for (int64_t i = 0; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, data + i)), d, data + i);
    done += static_cast<double>(n / lanes * lanes);
  }
  return done;
}

double ExpRound(float* data, int64_t n) {
  return map_round(data, n, [](auto x) HWY_ATTR { return hn::Neg(Exp(D(), x)); });
}

double TanhRound(float* data, int64_t n) {
  return map_round(data, n, [](auto x) HWY_ATTR { return Tanh(D(), x); });
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {
HWY_EXPORT(FmaRound);
HWY_EXPORT(ReadRound);
HWY_EXPORT(ExpRound);
HWY_EXPORT(TanhRound);
namespace {

constexpr int64_t kMaxLanes = 64;

// The ninth decile of the rounds: noise slows most of them down, and a jump of the clock makes a few look impossibly fast.
template <typename Round>
double steady_rate(double seconds, Round round) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<double> rates;
  do {
    const auto begin = Clock::now();
    const double work = round();
    rates.push_back(work / std::chrono::duration<double>(Clock::now() - begin).count());
  } while (Clock::now() < end);
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() * 9 / 10];
}

}  // namespace

double probe_fma(double seconds) {
  std::vector<float> sink(kMaxLanes, 1e-4f);
  return steady_rate(seconds, [&] { return HWY_DYNAMIC_DISPATCH(FmaRound)(sink.data()); });
}

double probe_read(double seconds) {
  std::vector<float> data(int64_t{1} << 26, 1.0f), sink(kMaxLanes);
  return steady_rate(seconds, [&] { return HWY_DYNAMIC_DISPATCH(ReadRound)(data.data(), static_cast<int64_t>(data.size()), sink.data()); });
}

double probe_exp(double seconds) {
  std::vector<float> data(4096, -0.5f);
  return steady_rate(seconds, [&] { return HWY_DYNAMIC_DISPATCH(ExpRound)(data.data(), static_cast<int64_t>(data.size())); });
}

double probe_tanh(double seconds) {
  std::vector<float> data(4096, 0.5f);
  return steady_rate(seconds, [&] { return HWY_DYNAMIC_DISPATCH(TanhRound)(data.data(), static_cast<int64_t>(data.size())); });
}

}  // namespace jumok::kernels
#endif
