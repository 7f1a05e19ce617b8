// Accuracy of exp, tanh and sigmoid against float64, over a dense sample of all floats of their range.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/math_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {

constexpr int kExp = 0, kTanh = 1, kSigmoid = 2;

void Evaluate(int function, const float* x, float* y, size_t n) {
  const hn::ScalableTag<float> d;  // n is a multiple of 16
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreU(function == kExp ? Exp(d, v) : function == kTanh ? Tanh(d, v) : Sigmoid(d, v), d, y + i);
  }
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/grid.h"

namespace jumok::kernels {
namespace {

HWY_EXPORT(Evaluate);

enum Function { kExp, kTanh, kSigmoid };

class MathTest : public EachTarget {
 protected:
  bool fused() const { return GetParam() <= HWY_AVX2; }  // smaller is newer

  double value(Function f, double x) const { return f == kExp ? std::exp(x) : f == kTanh ? std::tanh(x) : 1 / (1 + std::exp(-x)); }

  // The largest error in units of the last place over every 397th float of [low, high], both signs.
  double worst_ulp(Function f, float low, float high) const {
    constexpr size_t kBlock = 16;
    float x[kBlock], y[kBlock];
    double worst = 0;
    for (const uint32_t sign : {0u, 0x80000000u}) {
      for (uint32_t bits = 0x2f000000; bits < 0x43000000; bits += 397 * kBlock) {  // 1.2e-10 … 128
        for (size_t i = 0; i < kBlock; ++i)
          x[i] = std::clamp(std::bit_cast<float>((bits + 397 * static_cast<uint32_t>(i)) | sign), low, high);
        HWY_DYNAMIC_DISPATCH(Evaluate)(f, x, y, kBlock);
        for (size_t i = 0; i < kBlock; ++i) {
          const double expected = value(f, x[i]);
          const float rounded = std::abs(static_cast<float>(expected));
          const double ulp = static_cast<double>(std::nextafter(rounded, 1e38f)) - rounded;
          worst = std::max(worst, std::abs(y[i] - expected) / ulp);
        }
      }
    }
    return worst;
  }
  float one(Function f, float x) const {
    float in[16], out[16];
    std::fill_n(in, 16, x);
    HWY_DYNAMIC_DISPATCH(Evaluate)(f, in, out, 16);
    return out[2];
  }
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Measured over every 37th float: exp 1.00, sigmoid 2.36, tanh 4.66 with FMA and 5.65 without.
TEST_P(MathTest, ExpWithin1_2Ulp) { EXPECT_LE(worst_ulp(kExp, -86.98f, 88.72f), 1.2); }
TEST_P(MathTest, TanhWithin5Ulp) { EXPECT_LE(worst_ulp(kTanh, -128, 128), fused() ? 5.0 : 6.1); }
TEST_P(MathTest, SigmoidWithin3Ulp) { EXPECT_LE(worst_ulp(kSigmoid, -86.98f, 128), 3.0); }

TEST_P(MathTest, EndsOfTheRange) {
  EXPECT_EQ(one(kExp, -kInfinity), 0);
  EXPECT_EQ(one(kExp, -1e30f), 0);
  EXPECT_EQ(one(kExp, -104), 0);
  EXPECT_EQ(one(kExp, 0), 1);
  EXPECT_EQ(one(kExp, -0.0f), 1);
  EXPECT_EQ(one(kExp, 88.73f), kInfinity);
  EXPECT_EQ(one(kExp, 1e30f), kInfinity);
  EXPECT_EQ(one(kExp, kInfinity), kInfinity);
  EXPECT_EQ(one(kTanh, kInfinity), 1);
  EXPECT_EQ(one(kTanh, -kInfinity), -1);
  EXPECT_EQ(one(kTanh, 0), 0);
  EXPECT_TRUE(std::signbit(one(kTanh, -0.0f)));
  EXPECT_EQ(one(kSigmoid, kInfinity), 1);
  EXPECT_EQ(one(kSigmoid, -kInfinity), 0);
  EXPECT_EQ(one(kSigmoid, 0), 0.5f);
}

TEST_P(MathTest, NanStaysNan) {
  for (const Function f : {kExp, kTanh, kSigmoid}) EXPECT_TRUE(std::isnan(one(f, kNan)));
}

// 1 - tanh² must not turn negative, nor a probability exceed 1.
TEST_P(MathTest, NeverAboveOne) {
  for (float x = 4; x < 20; x += 0.0037f) {
    EXPECT_LE(one(kTanh, x), 1);
    EXPECT_EQ(one(kTanh, -x), -one(kTanh, x));
    EXPECT_LE(one(kSigmoid, x), 1);
    EXPECT_LE(one(kExp, -x), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, MathTest, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace jumok::kernels
#endif  // HWY_ONCE
