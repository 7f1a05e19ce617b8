// Random shapes, strides, types, rules and poison of the public attention against its definition in float64.
#include <random>
#include <string>

#include "definition.h"
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
  int64_t width() { return one_in(15) ? 0 : one_in(8) ? 60 + below(15) : 1 + below(20); }
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
  if (d.one_in(60)) {  // more than a block of queries, many tiles of keys
    s.batch = s.heads = s.groups = 1;
    s.queries = d.one_in(2) ? 300 + d.below(20) : 1 + d.below(40),
    s.keys = s.queries < 300 || d.one_in(4) ? 300 + d.below(20) : d.below(40);
    s.key_width = 1 + d.below(4), s.value_width = 1 + d.below(4);
  }
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

// What is read: strides of 0, rows backwards, no alignment.
void draw_strides(Draw& d, LibraryCase& a) {
  const bool one_batch = d.one_in(4);
  for (Block* x : {&a.q, &a.k, &a.v, &a.dout}) {
    const bool of_keys = x == &a.k || x == &a.v;
    if (d.one_in(2) && !(of_keys && one_batch)) continue;
    const Spread spread{of_keys ? one_batch : d.one_in(8), d.one_in(8), d.one_in(12), d.one_in(3), d.below(3)};
    const View v = x->view;
    *x = Block(v.batch, v.heads, v.rows, v.columns, a.shape.layout, spread);
    x->fill_normal(d.rng);
  }
  // Gradients that sentences share add up, whatever they read.
  for (Block* x : {&a.dk, &a.dv}) {
    if (!d.one_in(one_batch ? 2 : 12)) continue;
    *x = Block(x->view.batch, x->view.heads, x->view.rows, x->view.columns, a.shape.layout, {.one_batch = true});
    x->fill(kNaN);
  }
}

// Those of a broadcast bias add up, wherever they lie.
void draw_bias_gradient(Draw& d, LibraryCase& a) {
  a.dbias_key_stride = d.one_in(4) ? 2 : d.one_in(6) ? 0 : 1;
  a.dbias = Block(a.shape.batch, a.shape.heads, a.pair_rows(), a.pair_columns() * std::max<int64_t>(a.dbias_key_stride, 1), Layout::kGaps);
  for (int64_t* stride : {&a.dbias.view.batch_stride, &a.dbias.view.head_stride, &a.dbias.view.row_stride}) {
    if (d.one_in(4)) *stride = 0;
  }
}

// What no pair that may attend reads: blocked queries and keys, padding, rows of no sentence, gaps.
void poison_unread(Draw& d, LibraryCase& a) {
  std::vector<std::vector<bool>> read;
  const std::vector<Block*> blocks = {&a.q, &a.dout, &a.k, &a.v};
  for (const Block* x : blocks) read.emplace_back(x->memory.size());
  const auto mark = [&](size_t n, const float& first) {
    const auto at = read[n].begin() + static_cast<std::ptrdiff_t>(blocks[n]->place(first));
    std::fill(at, at + blocks[n]->view.columns, true);
  };
  const int64_t members = a.shape.heads / a.shape.groups;
  for (int64_t b = 0; b < a.shape.batch; ++b) {
    for (int64_t h = 0; h < a.shape.heads; ++h) {
      for (int64_t i = 0; i < a.query_length(b); ++i) {
        for (int64_t j = 0; j < a.key_length(b); ++j) {
          if (!a.allowed(b, h, i, j)) continue;
          for (size_t n : {0u, 1u}) mark(n, a.query_at(*blocks[n], b, h, i, 0));
          for (size_t n : {2u, 3u}) mark(n, a.key_at(*blocks[n], b, h / members, j, 0));
        }
      }
    }
  }
  const float poison[] = {kNaN, kInfinity, -kInfinity, 1e30f};
  for (size_t n = 0; n < blocks.size(); ++n) {
    for (size_t i = 0; i < read[n].size(); ++i) {
      if (!read[n][i] && d.one_in(2)) blocks[n]->memory[i] = poison[d.below(4)];
    }
  }
}

// A NaN that is read: in all that sees it, and in nothing else.
void poison_read(Draw& d, LibraryCase& a) {
  const Block& x = d.one_in(2) ? a.q : d.one_in(2) ? a.k : a.v;
  const View& v = x.view;
  if (v.batch * v.heads * v.rows * v.columns > 0) x.at(d.below(v.batch), d.below(v.heads), d.below(v.rows), d.below(v.columns)) = kNaN;
}

void draw_scalars(Draw& d, Problem& p, uint64_t seed, bool additive) {
  p.rules.causal = d.one_in(2);
  if (d.one_in(4)) p.rules.left = d.below(d.one_in(2) ? 5 : 80);
  if (d.one_in(4)) p.rules.right = d.below(d.one_in(2) ? 5 : 80);
  if (d.one_in(5)) p.rules.offset = d.below(20) - 10;
  if (!additive && d.one_in(4)) p.scale = static_cast<float>(d.rng.normal());
  if (d.one_in(4)) p.dropout = {0.3f, seed};
}

void draw_and_compare(uint64_t seed) {
  Draw d(seed);
  LibraryCase a(draw_shape(d), seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  draw_scalars(d, a.p, seed, a.shape.additive);
  Rules& r = a.p.rules;
  std::vector<int64_t> offsets;
  for (int64_t b = 0; b < a.shape.batch; ++b) offsets.push_back(d.below(100) - 30);
  if (!r.offset && d.one_in(6)) r.offsets = offsets.data();
  const int64_t density = 1 + d.below(4);
  const DrawnPairs<uint8_t> mask(d, a.shape, a.pair_rows(), a.pair_columns(),
                                 [&] { return static_cast<uint8_t>(d.one_in(density) ? 0 : 1 + d.below(255)); });
  const DrawnPairs<float> bias(d, a.shape, a.pair_rows(), a.pair_columns(),
                               [&] { return d.one_in(5) ? -kInfinity : static_cast<float>(d.rng.normal()); });
  if (d.one_in(3)) r.mask = mask.view;
  if (d.one_in(3)) r.bias = bias.view;
  if (d.one_in(2)) draw_strides(d, a);
  if (d.one_in(2)) draw_bias_gradient(d, a);
  if (d.one_in(3)) poison_unread(d, a);
  if (d.one_in(6)) poison_read(d, a);
  a.store();
  const bool accumulate = d.one_in(4);
  for (Block* x : {&a.dq, &a.dk, &a.dv, &a.dbias, &a.dscore}) {
    if (accumulate) x->fill_normal(d.rng);
  }
  Run how{.threads = d.one_in(20) ? 2 : 1};
  std::vector<float> workspace;
  if (d.one_in(3)) {
    how.workspace_bytes = std::max(forward_workspace(a.p, how.threads), backward_workspace(a.p, how.threads));
    workspace.assign(how.workspace_bytes / sizeof(float) + 1, kNaN);
    how.workspace = workspace.data() + 1;
  }
  compare_with_definition(a, how, accumulate);
}

TEST_P(AttentionLibrary, RandomShapesStridesAndRulesAgreeWithTheDefinition) {
  Rng seeds(std::random_device{}());
  for (int draw = 0; draw < 1000 && !HasFailure(); ++draw) draw_and_compare(seeds.bits());
}

}  // namespace
}  // namespace jumok::attention
