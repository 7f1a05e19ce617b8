// Faults that others met with caches, through the public header. KVC-n: the case's name.
#include <functional>

#include "attention_library/plan.h"
#include "case.h"
#include "kernels/grid.h"

namespace jumok::attention {
namespace {

class CacheFaults : public kernels::EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, CacheFaults, ::testing::ValuesIn(kernels::supported_targets()), kernels::target_name);

// A cache of fixed capacity with prefixes of different length, continued by a token at a time, is the whole pass, row for row.
TEST_P(CacheFaults, Kvc01Kvc04StepsWithACacheAreTheRowsOfTheWholePass) {
  LibraryShape s;
  s.batch = 2, s.heads = 4, s.groups = 2, s.queries = s.keys = 80, s.key_width = 16;
  LibraryCase whole(s);
  whole.p.rules.causal = true;
  whole.forward();
  std::vector<float> step_out(2 * 4 * 4);
  for (int64_t step = 0; step < 60; ++step) {
    const std::vector<int64_t> lengths = {step + 5, step + 2};
    Problem p = whole.p;
    p.rules.causal = step % 2 == 0;  // the lengths alone say the same
    p.keys.length = lengths.data();
    std::vector<float> q;
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t h = 0; h < 4; ++h) q.insert(q.end(), &whole.q.at(b, h, lengths[b] - 1, 0), &whole.q.at(b, h, lengths[b] - 1, 0) + 16);
    }
    p.q = dense(static_cast<const float*>(q.data()), 2, 4, 1, 16);
    forward(p, {.out = dense(step_out.data(), 2, 4, 1, 4)});
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t h = 0; h < 4; ++h) {
        for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(step_out[(b * 4 + h) * 4 + c], whole.out.at(b, h, lengths[b] - 1, c)) << step;
      }
    }
  }
}

// Hypotheses that share a cache, each with a copy of its own, or all with one.
struct Beams {
  static constexpr int64_t kBeams = 5, kCapacity = 150;
  std::vector<float> bias;
  std::vector<int64_t> lengths, one, offsets;
  LibraryCase a;

  static LibraryShape shape() {
    LibraryShape s;
    s.batch = kBeams, s.heads = 4, s.groups = 2, s.queries = 1, s.keys = kCapacity, s.key_width = 20, s.value_width = 9;
    return s;
  }
  explicit Beams(const Rules& rules) : bias(kBeams * 4 * kCapacity), one(kBeams, 1), a(shape()) {
    for (int64_t b = 1; b < kBeams; ++b) {
      for (auto* x : {&a.k, &a.v}) std::copy_n(&x->at(0, 0, 0, 0), x->view.batch_stride, &x->at(b, 0, 0, 0));
    }
    Rng rng(5);
    for (float& x : bias) x = rng.below(4) ? static_cast<float>(rng.normal()) : -kInfinity;
    a.p.rules = rules;
  }
  void with_bias() { a.p.rules.bias = {bias.data(), 4 * kCapacity, kCapacity, 0, 1}; }
  void with_lengths(std::vector<int64_t> n) { lengths = std::move(n), a.p.keys.length = lengths.data(); }
  void with_offsets(std::vector<int64_t> n) { offsets = std::move(n), a.p.rules.offsets = offsets.data(); }
  void with_query_lengths() { a.p.queries.length = one.data(); }
  void share() { a.p.k.batch_stride = a.p.v.batch_stride = 0; }
};

// What is said of the beams, and whether they then all see the same keys.
struct Step {
  Rules rules;
  std::function<void(Beams&)> say;
  bool together;
};
std::vector<Step> steps() {
  const auto nothing = [](Beams&) {};
  const auto filled = [](Beams& b) { b.with_lengths(std::vector<int64_t>(Beams::kBeams, 140)); };
  const auto uneven = [](Beams& b) { b.with_offsets({139, 10, 149, 200, 139}); };
  const auto turned = [](Beams& b) { b.with_offsets(std::vector<int64_t>(Beams::kBeams, 120)); };
  return {
      {{}, nothing, true},
      {{.causal = true}, nothing, true},
      {{}, [](Beams& b) { b.with_bias(); }, true},
      {{.causal = true}, filled, true},
      {{}, [=](Beams& b) { filled(b), b.with_bias(), b.with_query_lengths(); }, true},
      {{.left = 5000}, filled, true},
      {{.left = 20}, filled, true},
      {{.causal = true, .left = 64}, [=](Beams& b) { filled(b), b.with_bias(); }, true},
      {{.left = 3, .right = 0}, turned, true},
      {{.left = 20, .offset = 500}, filled, true},  // nothing is in the window
      {{}, uneven, true},                           // positions are asked for by no rule
      {{.right = 300}, uneven, true},
      {{.causal = true}, uneven, false},
      {{.left = 20}, uneven, false},
      {{},
       [](Beams& b) {
         b.with_lengths({140, 140, 139, 140, 140});
       },
       false},
      {{}, [](Beams& b) { b.with_query_lengths(), b.one[2] = 0; }, false},
  };
}

// Compared row by row with their own passes, under rules and biases of their own.
TEST_P(CacheFaults, Kvc02BeamsThatShareACacheKeepTheirRowsAndReadItOnce) {
  const std::vector<Step> all = steps();
  for (size_t n = 0; n < all.size(); ++n) {
    SCOPED_TRACE(n);
    Beams apart(all[n].rules), shared(all[n].rules);
    for (Beams* x : {&apart, &shared}) all[n].say(*x);
    shared.share();
    const std::vector<float> expected = outputs(apart.a);
    EXPECT_EQ(outputs(shared.a), expected);
    EXPECT_EQ(shared.a.lse.memory, apart.a.lse.memory);
    EXPECT_EQ(rows_together(Plan(shared.a.p)) == Together::kSentences, all[n].together);
    EXPECT_NE(rows_together(Plan(apart.a.p)), Together::kSentences);
  }
}

// Sentences of a packed cache that are the same rows of it.
TEST_P(CacheFaults, BeamsOnTheSameRowsOfAPackedCacheReadThemOnce) {
  Beams apart({.causal = true}), shared({.causal = true});
  const std::vector<int64_t> begin(Beams::kBeams, 7), lengths(Beams::kBeams, 130);
  for (Beams* x : {&apart, &shared}) {
    x->a.p.k.data = &x->a.k.at(0, 0, 7, 0), x->a.p.v.data = &x->a.v.at(0, 0, 7, 0);
    x->a.p.k.rows = x->a.p.v.rows = 130;
  }
  Problem& p = shared.a.p;
  p.k.data = &shared.a.k.at(0, 0, 0, 0), p.v.data = &shared.a.v.at(0, 0, 0, 0);
  p.k.rows = p.v.rows = Beams::kCapacity, p.k.batch = p.v.batch = 1;
  p.keys = {begin.data(), lengths.data()};
  EXPECT_EQ(outputs(shared.a), outputs(apart.a));
  EXPECT_EQ(rows_together(Plan(p)), Together::kSentences);
}

// The query heads of one key/value head see the same keys, also in a window.
TEST_P(CacheFaults, AGroupOfHeadsReadsItsKeysOnceAlsoInAWindow) {
  Beams a({.causal = true, .left = 70});
  a.with_lengths({150, 3, 64, 100, 0});
  a.with_query_lengths();
  EXPECT_EQ(rows_together(Plan(a.a.p)), Together::kGroup);
  const std::vector<float> grouped = outputs(a.a), lse = a.a.lse.memory;
  for (int64_t h = 0; h < 4; ++h) {  // head by head nothing is together
    Problem one = a.a.p;
    for (ConstView* v : {&one.q, &one.k, &one.v}) {
      v->data = static_cast<const float*>(v->data) + (v == &one.q ? h : h / 2) * v->head_stride;
      v->heads = 1;
    }
    std::vector<float> out(Beams::kBeams * 9);
    forward(one, {.out = dense(out.data(), Beams::kBeams, 1, 1, 9)});
    for (int64_t b = 0; b < Beams::kBeams; ++b) {
      for (int64_t c = 0; c < 9; ++c) EXPECT_EQ(out[b * 9 + c], a.a.out.at(b, h, 0, c)) << b << " " << h;
    }
  }
}

}  // namespace
}  // namespace jumok::attention
