// The dropout decisions of dropout.h for a vector of columns: once per Highway target.
#if defined(JUMOK_KERNELS_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef JUMOK_KERNELS_DROPOUT_INL_H_
#undef JUMOK_KERNELS_DROPOUT_INL_H_
#else
#define JUMOK_KERNELS_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// lowbias32 of dropout.h.
template <class DU, class VU = hn::Vec<DU>>
HWY_INLINE VU LowBias32(DU du, VU x) {
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(du, 0x7feb352dU));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, hn::Set(du, 0x846ca68bU));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// Applies an active dropout to vectors of f32. Columns of lane i of the vector at `column`: column + i.
template <class D>
class DropLanes {
  using DU = hn::RebindToUnsigned<D>;
  using V = hn::Vec<D>;

 public:
  // The kernel's dropout may be inactive: then this object must not be used.
  HWY_INLINE DropLanes(D, const Dropout& dropout)
      : columns_(hn::Mul(hn::Iota(DU(), 0), hn::Set(DU(), 0x9e3779b9U))),
        threshold_(hn::Set(DU(), keep_threshold(dropout.rate))),
        scale_(hn::Set(D(), 1.0f / (1.0f - dropout.rate))) {}

  // dropped lanes 0, kept lanes x / (1 - rate). row_seed = dropout_row_seed(key of the row, site)
  HWY_INLINE V apply(V x, uint32_t row_seed, uint32_t column) const {
    const DU du;
    const auto bits = LowBias32(du, hn::Add(hn::Set(du, row_seed + column * 0x9e3779b9U), columns_));
    const auto keep = hn::Eq(hn::Max(bits, threshold_), bits);  // bits >= threshold, unsigned
    return hn::IfThenElseZero(hn::RebindMask(D(), keep), hn::Mul(x, scale_));
  }

 private:
  hn::Vec<DU> columns_, threshold_;
  V scale_;
};

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // JUMOK_KERNELS_DROPOUT_INL_H_
