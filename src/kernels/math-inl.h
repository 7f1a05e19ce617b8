// exp, tanh and sigmoid of f32 vectors, once per Highway target. Included from inside a foreach_target translation unit.
#if defined(JUMOK_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef JUMOK_KERNELS_MATH_INL_H_
#undef JUMOK_KERNELS_MATH_INL_H_
#else
#define JUMOK_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x within [low, high]; a NaN stays one.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Clamp(D d, V x, float low, float high) {
  const V lo = hn::Set(d, low), hi = hn::Set(d, high);
#if HWY_TARGET == HWY_SCALAR
  // Its Min and Max prefer the number to the NaN.
  return hn::IfThenElse(hn::Gt(x, hi), hi, hn::IfThenElse(hn::Lt(x, lo), lo, x));
#else
  // x86 takes the second operand when either is NaN, and NEON gives NaN.
  return hn::Min(hi, hn::Max(lo, x));
#endif
}

//   exp(x) = 2^n exp(r),   n = round(x / ln 2),   r = x - n ln 2 in [-ln 2 / 2, ln 2 / 2],   exp(r) = 1 + r + r² z(r)
// z has degree 4, fitted minimax here (relative error of exp(r) 3.1e-9 = 0.05 ulp). At most 1.2 ulp.
// exp(-inf) = 0, exp(x > 88.7229) = +inf, NaN gives NaN. Results below 1.7e-38 (x < -86.98) are 0: denormals are slow, and nothing here
// needs them.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  x = Clamp(d, x, -87.336f, 89.0f);
  // Adding 1.5·2^23 rounds to an integer; + 126 leaves n - 1 + 127, the exponent field of 2^(n-1), in the low bits of the sum. Half the
  // scale and a doubled polynomial reach from 2^-126 to overflow with a single multiplication.
  const V magic = hn::Set(d, 12582912.0f + 126.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const V half_scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const V n = hn::Sub(shifted, magic);
  // ln 2 in two parts (Cephes expf); n times the first is exact.
  const V r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x));
  V z = hn::MulAdd(hn::Set(d, 2 * 0.001382117043249309f), r, hn::Set(d, 2 * 0.008368677459657192f));
  z = hn::MulAdd(z, r, hn::Set(d, 2 * 0.04166826233267784f));
  z = hn::MulAdd(z, r, hn::Set(d, 2 * 0.1666652113199234f));
  z = hn::MulAdd(z, r, hn::Set(d, 2 * 0.4999999403953552f));
  const V twice = hn::Add(hn::MulAdd(z, hn::Mul(r, r), hn::Add(r, r)), hn::Set(d, 2.0f));
  return hn::Mul(twice, half_scale);
}

//   tanh(x) = x P(x²) / Q(x²), degrees 5 and 4 in x², for |x| <= 9 (beyond, tanh rounds to ±1)
// Minimax fit made here (relative error 1.3e-9); the common factor of P and Q was chosen so that rounding the coefficients hurts least.
// At most 4.98 ulp (6.1 on targets without FMA), measured over the floats of [2^-12, 9.2], |tanh| <= 1, odd, NaN gives NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  x = Clamp(d, x, -9.0f, 9.0f);
  const V u = hn::Mul(x, x);
  V p = hn::MulAdd(hn::Set(d, -4.21223334e-11f), u, hn::Set(d, 1.05403927e-07f));
  p = hn::MulAdd(p, u, hn::Set(d, 9.64251158e-05f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.0133109847f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.470620662f));
  p = hn::MulAdd(p, u, hn::Set(d, 3.44000173f));
  V q = hn::MulAdd(hn::Set(d, 4.43409726e-06f), u, hn::Set(d, 0.00135558308f));
  q = hn::MulAdd(q, u, hn::Set(d, 0.0937401131f));
  q = hn::MulAdd(q, u, hn::Set(d, 1.61728799f));
  q = hn::MulAdd(q, u, hn::Set(d, 3.44000173f));
  const V y = hn::Div(hn::Mul(p, x), q);
  return Clamp(d, y, -1.0f, 1.0f);
}

// sigmoid(x) = 1 / (1 + exp(-x)). At most 3 ulp down to x = -86.98 (1.7e-38), 0 somewhere below -88; NaN gives NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // JUMOK_KERNELS_MATH_INL_H_
