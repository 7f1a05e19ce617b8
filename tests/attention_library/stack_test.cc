// Self-attention in layers, where the rounding of one layer is the input of the next.
#include "case.h"
#include "kernels/grid.h"

namespace jumok::attention {
namespace {

class AttentionStack : public kernels::EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionStack, ::testing::ValuesIn(kernels::supported_targets()), kernels::target_name);

constexpr int64_t kTokens = 12, kHeads = 2, kLayers = 6;

// x <- x + attention(x, x, x), then each row to mean 0 and variance 1.
void next_layer(LibraryCase& a) {
  a.forward();
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t i = 0; i < kTokens; ++i) {
      float *x = &a.q.at(0, h, i, 0), sum = 0, squares = 0;
      const int64_t d = a.shape.key_width;
      for (int64_t c = 0; c < d; ++c) sum += x[c] += a.out.at(0, h, i, c);
      for (int64_t c = 0; c < d; ++c) x[c] -= sum / static_cast<float>(d), squares += x[c] * x[c];
      for (int64_t c = 0; c < d; ++c) x[c] /= std::sqrt(squares / static_cast<float>(d));
    }
  }
}

// The weights of each layer, where token i sees itself and the next one, in a circle.
std::vector<std::vector<float>> weights_of_layers(Type type) {
  LibraryShape s;
  s.heads = s.groups = kHeads, s.queries = s.keys = kTokens, s.key_width = s.value_width = 16, s.type = s.query_type = type;
  LibraryCase a(s, 8);
  std::vector<uint8_t> allowed(kTokens * kTokens);
  for (int64_t i = 0; i < kTokens; ++i) allowed[i * kTokens + i] = allowed[i * kTokens + (i + 1) % kTokens] = 1;
  a.p.rules.mask = {allowed.data(), 0, 0, kTokens, 1};
  std::vector<std::vector<float>> layers;
  for (int64_t n = 0; n < kLayers; ++n) {
    for (Block* x : {&a.k, &a.v}) std::copy(a.q.memory.begin(), a.q.memory.end(), x->memory.begin());
    a.store();
    Block w(1, kHeads, kTokens, kTokens);
    a.weights(w.view);
    layers.push_back(w.memory);
    next_layer(a);
  }
  return layers;
}

TEST_P(AttentionStack, SixLayersOfHalfPrecisionKeepMasksAndWeights) {
  const auto exact = weights_of_layers(Type::f32), half = weights_of_layers(Type::f16);
  for (size_t n = 0; n < exact.size(); ++n) {
    for (size_t i = 0; i < exact[n].size(); ++i) {
      EXPECT_NEAR(half[n][i], exact[n][i], 2e-2) << "layer " << n;
      EXPECT_EQ(half[n][i] != 0, exact[n][i] != 0) << "layer " << n;
    }
    for (size_t row = 0; row < kHeads * kTokens; ++row) {
      const float* w = half[n].data() + row * kTokens;
      EXPECT_EQ(std::count(w, w + kTokens, 0.0f), kTokens - 2);
      EXPECT_NEAR(w[row % kTokens] + w[(row + 1) % kTokens], 1, 1e-6);
    }
  }
}

}  // namespace
}  // namespace jumok::attention
