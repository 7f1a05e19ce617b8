// Faults that others met with caches, through the public header. KVC-n: the case's name.
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

// Hypotheses that share a cache are compared row by row with their own passes, under masks and biases of their own.
TEST_P(CacheFaults, Kvc02BeamsThatShareACacheKeepTheirRows) {
  LibraryShape s;
  s.batch = 5, s.heads = 2, s.groups = 2, s.queries = 1, s.keys = 150, s.key_width = 20, s.value_width = 9;
  LibraryCase apart(s);
  for (int64_t b = 1; b < 5; ++b) {
    for (auto* x : {&apart.k, &apart.v}) std::copy_n(&x->at(0, 0, 0, 0), x->view.batch_stride, &x->at(b, 0, 0, 0));
  }
  std::vector<float> bias(5 * 2 * 150);
  Rng rng(5);
  for (float& x : bias) x = rng.below(4) ? static_cast<float>(rng.normal()) : -kInfinity;
  apart.p.rules.bias = {bias.data(), 300, 150, 0, 1};
  const std::vector<float> expected = outputs(apart), lse = apart.lse.memory;
  apart.p.k.batch_stride = apart.p.v.batch_stride = 0;
  apart.out.fill(kNaN);
  EXPECT_EQ(outputs(apart), expected);
  EXPECT_EQ(apart.lse.memory, lse);
}

}  // namespace
}  // namespace jumok::attention
