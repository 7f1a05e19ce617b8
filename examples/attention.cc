// Attention as a library: "it" asks, "cat" and "car" answer; then a causal batch of several heads, forward and backward.
#include <jumok/attention.h>
#include <jumok/error.h>

#include <cstdio>
#include <vector>

using namespace jumok::attention;

// One query, two keys, d = 2: the embeddings of the three words after W_Q and W_K.
void ask() {
  const std::vector<float> it = {1.2f, -1.2f}, keys = {1.72f, 0.4f, 0.685f, 0.95f}, values = {0.8f, 0.4f, 0.2f, 0.95f};
  std::vector<float> context(2), alpha(2);
  Problem p;
  p.q = dense(it.data(), 1, 1, 1, 2);  // [B, H, T, d]
  p.k = dense(keys.data(), 1, 1, 2, 2);
  p.v = dense(values.data(), 1, 1, 2, 2);
  forward(p, {.out = dense(context.data(), 1, 1, 1, 2)});
  weights(p, dense(alpha.data(), 1, 1, 1, 2));
  std::printf("weights: cat %.3f, car %.3f; context (%.3f, %.3f)\n", alpha[0], alpha[1], context[0], context[1]);
}

// Two sentences of 7 and 5 words in rows of one matrix [B, T, 3·H·d] as one projection writes it: q, k and v side by side.
void differentiate() {
  const int64_t batch = 2, heads = 4, length = 7, width = 16, columns = heads * width, row = 3 * columns;
  std::vector<float> qkv(batch * length * row), dqkv(qkv.size()), out(batch * length * columns), lse(batch * heads * length),
      dout(out.size(), 1.0f);
  for (size_t i = 0; i < qkv.size(); ++i) qkv[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5f;
  const auto part = [&](auto* data, int64_t n) { return interleaved(data + n * columns, batch, heads, length, width, row); };
  const std::vector<int64_t> lengths = {7, 5};

  Problem p;
  p.q = part(qkv.data(), 0), p.k = part(qkv.data(), 1), p.v = part(qkv.data(), 2);
  p.queries.length = p.keys.length = lengths.data();
  p.rules.causal = true;
  const Result r = {interleaved(out.data(), batch, heads, length, width), dense(lse.data(), batch, heads, length, 1)};
  forward(p, r, {.threads = 2});

  Gradient g{r.out, interleaved(dout.data(), batch, heads, length, width), r.lse};
  g.dq = part(dqkv.data(), 0), g.dk = part(dqkv.data(), 1), g.dv = part(dqkv.data(), 2);
  backward(p, g, {.threads = 2});
  // The loss is the sum of the outputs, so every word's weights sum into dv: one per word that attends.
  double sum = 0;
  for (int64_t i = 0; i < batch * length; ++i) sum += dqkv[i * row + 2 * columns];
  std::printf("dv of one column sums to %.3f\n", sum);
}

int main() {
  try {
    ask();
    differentiate();
  } catch (const jumok::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
