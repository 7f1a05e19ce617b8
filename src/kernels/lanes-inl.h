// Loops over the columns of a row, a vector at a time, with an exact tail: once per Highway target.
#if defined(JUMOK_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef JUMOK_KERNELS_LANES_INL_H_
#undef JUMOK_KERNELS_LANES_INL_H_
#else
#define JUMOK_KERNELS_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How a loop body reads and writes: a whole vector, or the first `count` lanes of one. Nothing beyond the row is touched, and the tail goes
// through the same vector arithmetic as the rest, so an element's bits do not depend on where in a vector it stands.
struct Whole {
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) const {
    return hn::LoadU(d, from);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> v, hn::TFromD<D>* to) const {
    hn::StoreU(v, d, to);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> rest(D, hn::Vec<D> v, hn::Vec<D>) const {
    return v;
  }
};

struct Part {
  size_t count;  // 1 … lanes - 1

  // Lanes from `count` on are 0.
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(D())] = {};
    for (size_t i = 0; i < count; ++i) buffer[i] = from[i];
    return hn::Load(d, buffer);
#else
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#endif
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> v, hn::TFromD<D>* to) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(D())];
    hn::Store(v, d, buffer);
    for (size_t i = 0; i < count; ++i) to[i] = buffer[i];
#else
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#endif
  }
  // v with `filler` in the lanes from `count` on.
  template <class D>
  HWY_INLINE hn::Vec<D> rest(D d, hn::Vec<D> v, hn::Vec<D> filler) const {
    return hn::IfThenElse(hn::FirstN(d, count), v, filler);
  }
};

// body(part, column) for every vector of [0, n).
template <class D, class Body>
HWY_INLINE void for_columns(D d, int64_t n, const Body& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) body(Whole(), c);
  if (c < n) body(Part{static_cast<size_t>(n - c)}, c);
}

// Folds the columns of a row into one state, in an order that depends on n alone: step(part, column, state) for every vector, on four
// states in turn, because an addition takes four cycles; then the states are merged, merge(a, b) twice two and once. A state holds vectors,
// and starts as `start`.
template <class D, class State, class Step, class Merge>
HWY_INLINE State fold_columns(D d, int64_t n, const State& start, const Step& step, const Merge& merge) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  State s0 = start, s1 = start, s2 = start, s3 = start;
  int64_t c = 0;
  for (; c + 4 * lanes <= n; c += 4 * lanes) {
    step(Whole(), c, s0);
    step(Whole(), c + lanes, s1);
    step(Whole(), c + 2 * lanes, s2);
    step(Whole(), c + 3 * lanes, s3);
  }
  for (; c + lanes <= n; c += lanes) step(Whole(), c, s0);
  if (c < n) step(Part{static_cast<size_t>(n - c)}, c, s1);
  return merge(merge(s0, s1), merge(s2, s3));
}

// Σ of the vectors term(part, column) over [0, n). Rest lanes of the last term count as 0.
template <class D, class Term>
HWY_INLINE hn::TFromD<D> sum_columns(D d, int64_t n, const Term& term) {
  using V = hn::Vec<D>;
  const auto step = [&](auto part, int64_t c, V& sum) HWY_ATTR { sum = hn::Add(sum, part.rest(d, term(part, c), hn::Zero(d))); };
  const auto merge = [](V a, V b) HWY_ATTR { return hn::Add(a, b); };
  return hn::GetLane(hn::SumOfLanes(d, fold_columns(d, n, hn::Zero(d), step, merge)));
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // JUMOK_KERNELS_LANES_INL_H_
