// Random shapes, strides, types and rules of the public attention against its definition in float64.
#include <random>
#include <string>

#include "case.h"
#include "kernels/grid.h"

namespace jumok::attention {
namespace {

class AttentionLibrary : public kernels::EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionLibrary, ::testing::ValuesIn(kernels::supported_targets()), kernels::target_name);

struct Draw {
  explicit Draw(uint64_t seed) : rng(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(rng.below(static_cast<uint64_t>(n))); }
  bool one_in(int64_t n) { return below(n) == 0; }
  int64_t size() { return one_in(12) ? below(180) : one_in(4) ? below(70) : below(12); }
  int64_t width() { return one_in(8) ? 60 + below(15) : 1 + below(20); }
  std::vector<int64_t> lengths(int64_t count, int64_t most) {
    std::vector<int64_t> n;
    for (int64_t b = 0; b < count; ++b) n.push_back(below(most + 1));
    return n;
  }
  Rng rng;
};

LibraryShape draw_shape(Draw& d) {
  LibraryShape s;
  s.batch = 1 + d.below(3);
  s.groups = 1 + d.below(2);
  s.heads = s.groups * (1 + d.below(3));
  s.queries = d.one_in(5) ? 1 : d.size();
  s.keys = d.one_in(2) ? s.queries : d.size();
  s.key_width = d.width();
  s.value_width = d.one_in(2) ? s.key_width : d.width();
  s.layout = static_cast<Layout>(d.below(3));
  if (d.one_in(3)) s.query_lengths = d.lengths(s.batch, s.queries), s.packed_queries = d.one_in(2);
  if (d.one_in(3)) s.key_lengths = d.lengths(s.batch, s.keys), s.packed_keys = d.one_in(2);
  if (d.one_in(4)) s.type = d.one_in(2) ? Type::f16 : Type::bf16;
  if (d.one_in(8)) s.query_type = s.type;
  s.dbias = d.one_in(3);
  s.additive = d.one_in(4);
  if (s.additive) s.type = s.query_type = Type::f32;
  return s;
}

// Pairs over [B, H, T, S], each dimension broadcast or not, keys adjacent or not.
template <typename T>
struct DrawnPairs {
  std::vector<T> memory;
  Pairs<const T> view;
  template <typename F>
  DrawnPairs(Draw& d, const LibraryShape& s, int64_t queries, int64_t keys, const F& value) {
    const int64_t key_step = d.one_in(6) ? 2 : 1, row = keys * key_step + d.below(3), head = queries * row, batch = s.heads * head;
    memory.resize(static_cast<size_t>(s.batch * batch + 1));
    for (T& x : memory) x = value();
    const auto stride = [&](int64_t n) { return d.one_in(3) ? 0 : n; };
    view = {memory.data(), stride(batch), stride(head), stride(row), d.one_in(10) ? 0 : key_step};
  }
};

TEST_P(AttentionLibrary, RandomShapesStridesAndRulesAgreeWithTheDefinition) {
  const uint64_t seed = std::random_device{}();
  Rng seeds(seed);
  for (int draw = 0; draw < 1000 && !HasFailure(); ++draw) {
    const uint64_t drawn = seeds.bits();
    Draw d(drawn);
    LibraryCase a(draw_shape(d), drawn);
    SCOPED_TRACE("seed " + std::to_string(drawn));
    Rules& r = a.p.rules;
    r.causal = d.one_in(2);
    if (d.one_in(4)) r.left = d.below(d.one_in(2) ? 5 : 80);
    if (d.one_in(4)) r.right = d.below(d.one_in(2) ? 5 : 80);
    std::vector<int64_t> offsets;
    for (int64_t b = 0; b < a.shape.batch; ++b) offsets.push_back(d.below(100) - 30);
    if (d.one_in(5)) r.offset = d.below(20) - 10;
    if (!r.offset && d.one_in(6)) r.offsets = offsets.data();
    const int64_t density = 1 + d.below(4);
    const DrawnPairs<uint8_t> mask(d, a.shape, a.pair_rows(), a.pair_columns(),
                                   [&] { return static_cast<uint8_t>(d.one_in(density) ? 0 : 1 + d.below(255)); });
    const DrawnPairs<float> bias(d, a.shape, a.pair_rows(), a.pair_columns(),
                                 [&] { return d.one_in(5) ? -kInfinity : static_cast<float>(d.rng.normal()); });
    if (d.one_in(3)) r.mask = mask.view;
    if (d.one_in(3)) r.bias = bias.view;
    if (!a.shape.additive && d.one_in(4)) a.p.scale = static_cast<float>(d.rng.normal());
    if (d.one_in(4)) a.p.dropout = {0.3f, drawn};
    compare_with_definition(a, {.threads = d.one_in(20) ? 2 : 1});
  }
}

}  // namespace
}  // namespace jumok::attention
