#include "kernels/embedding.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/embedding.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/dropout-inl.h"
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace jumok::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

template <bool kDrop>
HWY_INLINE void embed_rows(const Embedding& in, Rows y) {
  const F32 d;
  const V32 scale = hn::Set(d, in.scale);
  const DropLanes<F32> drop(d, in.dropout);
  for (int64_t n = 0; n < y.rows; ++n) {
    const float* word = in.table.row(in.ids[n]);
    const float* position = in.positions.data ? in.positions.row(in.position[n]) : nullptr;
    const uint32_t seed = kDrop ? dropout_row_seed(in.dropout.row_keys[n], in.dropout.site) : 0;
    float* to = y.row(n);
    for_columns(d, y.columns, [&](auto part, int64_t c) HWY_ATTR {
      const V32 w = part.load(d, word + c);
      V32 v = position ? hn::MulAdd(scale, w, part.load(d, position + c)) : hn::Mul(scale, w);
      if constexpr (kDrop) v = drop.apply(v, seed, static_cast<uint32_t>(c));
      part.store(d, v, to + c);
    });
  }
}

void EmbeddingForward(const Embedding& in, Rows y) { in.dropout.active() ? embed_rows<true>(in, y) : embed_rows<false>(in, y); }

template <bool kDrop>
HWY_INLINE void scatter_rows(const Embedding& in, ConstRows dy, Rows dtable, Rows dpositions) {
  const F32 d;
  const V32 scale = hn::Set(d, in.scale);
  const DropLanes<F32> drop(d, in.dropout);
  for (int64_t n = 0; n < dy.rows; ++n) {
    float* word = dtable.data ? dtable.row(in.ids[n]) : nullptr;
    float* position = dpositions.data ? dpositions.row(in.position[n]) : nullptr;
    const uint32_t seed = kDrop ? dropout_row_seed(in.dropout.row_keys[n], in.dropout.site) : 0;
    const float* from = dy.row(n);
    for_columns(d, dy.columns, [&](auto part, int64_t c) HWY_ATTR {
      V32 g = part.load(d, from + c);
      if constexpr (kDrop) g = drop.apply(g, seed, static_cast<uint32_t>(c));
      if (word) part.store(d, hn::MulAdd(scale, g, part.load(d, word + c)), word + c);
      if (position) part.store(d, hn::Add(part.load(d, position + c), g), position + c);
    });
  }
}

void EmbeddingBackward(const Embedding& in, ConstRows dy, Rows dtable, Rows dpositions) {
  in.dropout.active() ? scatter_rows<true>(in, dy, dtable, dpositions) : scatter_rows<false>(in, dy, dtable, dpositions);
}

}  // namespace jumok::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jumok::kernels {

HWY_EXPORT(EmbeddingForward);
HWY_EXPORT(EmbeddingBackward);

void embedding_forward(const Embedding& in, Rows y) { HWY_DYNAMIC_DISPATCH(EmbeddingForward)(in, y); }
void embedding_backward(const Embedding& in, ConstRows dy, Rows dtable, Rows dpositions) {
  HWY_DYNAMIC_DISPATCH(EmbeddingBackward)(in, dy, dtable, dpositions);
}

void sinusoidal_positions(Rows out) {
  for (int64_t p = 0; p < out.rows; ++p) {
    for (int64_t c = 0; c < out.columns; ++c) {
      const int64_t even = c - c % 2;  // 2i, for the pair (2i, 2i + 1)
      const double angle = static_cast<double>(p) / std::pow(10000.0, static_cast<double>(even) / static_cast<double>(out.columns));
      out.row(p)[c] = static_cast<float>(c % 2 ? std::cos(angle) : std::sin(angle));
    }
  }
}

}  // namespace jumok::kernels
#endif  // HWY_ONCE
