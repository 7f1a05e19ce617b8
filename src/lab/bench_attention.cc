#include "lab/bench_attention.h"

#include <jumok/attention.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/workers.h"
#include "tensor/tensor.h"

namespace jumok {
namespace {

// A packed batch of H heads: Q, K, V in one matrix [N, 3 H d], their gradients in another.
struct Batch {
  std::vector<int64_t> begin, length;
  std::vector<float> qkv, dqkv, out, dout, lse;
  std::vector<char> workspace;
  attention::Problem problem;
  attention::Result result;
  attention::Gradient gradient;
  attention::Run run;

  Batch(std::vector<int64_t> lengths, int64_t heads, int64_t width, int threads) : length(std::move(lengths)) {
    int64_t rows = 0;
    for (const int64_t n : length) begin.push_back(rows), rows += n;
    const int64_t model = heads * width, wide = padded_stride(3 * model), narrow = padded_stride(model);
    Rng rng(1);
    for (auto* x : {&qkv, &dqkv}) x->resize(static_cast<size_t>(rows * wide));
    for (auto* x : {&out, &dout}) x->resize(static_cast<size_t>(rows * narrow));
    for (auto* x : {&qkv, &dout}) {
      for (float& y : *x) y = static_cast<float>(rng.normal());
    }
    lse.resize(static_cast<size_t>(rows * heads));
    const auto third = [&](std::vector<float>& x, int64_t n) {
      return attention::interleaved(x.data() + n * model, 1, heads, rows, width, wide);
    };
    const auto whole = [&](std::vector<float>& x) { return attention::interleaved(x.data(), 1, heads, rows, width, narrow); };
    problem.q = third(qkv, 0), problem.k = third(qkv, 1), problem.v = third(qkv, 2);
    problem.queries = problem.keys = {begin.data(), length.data()};
    problem.sentences = static_cast<int64_t>(length.size());
    result = {whole(out), attention::interleaved(lse.data(), 1, heads, rows, 1)};
    gradient = {result.out, whole(dout), result.lse, third(dqkv, 0), third(dqkv, 1), third(dqkv, 2)};
    workspace.resize(attention::backward_workspace(problem, threads));
    run = {threads, workspace.data(), workspace.size()};
  }
};

// Quarters, half, … up to seven quarters of `length`, in turn, until there are as many pairs as in `sentences` of it.
std::vector<int64_t> mixed_lengths(int64_t length, int64_t sentences) {
  std::vector<int64_t> lengths;
  for (int64_t rest = sentences * length * length, quarters = 1; rest > 0; quarters = quarters % 7 + 1) {
    const auto most = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(rest))));
    const int64_t n = std::min(std::max<int64_t>(1, length * quarters / 4), most);
    lengths.push_back(n);
    rest -= n * n;
  }
  return lengths;
}

int64_t section(int64_t length) { return std::max<int64_t>(64, (length / 4 + 63) / 64 * 64); }  // of the rule "blocks"; whole tiles of keys

// What the rules of one length read and write.
struct Subject {
  Batch equal;
  std::optional<Batch> mixed;
  std::vector<uint8_t> mask, blocks;  // [T, T]
  std::vector<float> bias;

  Subject(const BenchAttentionOptions& o, int64_t length, int threads)
      : equal(std::vector<int64_t>(bench_sentences(static_cast<int>(length), o.heads, threads), length), o.heads, o.width, threads) {
    if (chosen(o, "mixed")) mixed.emplace(mixed_lengths(length, equal.problem.sentences), o.heads, o.width, threads);
    Rng rng(2);
    if (chosen(o, "mask")) fill(mask, length, [&](int64_t, int64_t) { return rng.below(4) != 0; });
    if (chosen(o, "blocks")) fill(blocks, length, [&](int64_t i, int64_t j) { return i / section(length) == j / section(length); });
    if (chosen(o, "bias")) fill(bias, length, [&](int64_t, int64_t) { return static_cast<float>(rng.uniform()); });
  }
  static bool chosen(const BenchAttentionOptions& o, const char* rule) { return std::ranges::count(o.rules, rule) > 0; }
  template <typename T, class F>
  static void fill(std::vector<T>& pairs, int64_t length, const F& value) {
    for (int64_t n = 0; n < length * length; ++n) pairs.push_back(value(n / length, n % length));
  }
  Batch& batch(const std::string& rule) { return rule == "mixed" ? *mixed : equal; }

  attention::Problem problem(const std::string& rule, int window) {
    attention::Problem p = batch(rule).problem;
    const int64_t length = equal.length[0];
    attention::Rules& rules = p.rules;
    rules.causal = rule == "causal";
    if (rule == "window") rules.left = window / 2, rules.right = window - window / 2 - 1;
    if (rule == "mask") rules.mask = {mask.data(), 0, 0, length, 1};
    if (rule == "blocks") rules.mask = {blocks.data(), 0, 0, length, 1};
    if (rule == "bias") rules.bias = {bias.data(), 0, 0, length, 1};
    return p;
  }
};

// The pairs that position, or the mask of blocks, allows of one head of one sentence.
double pairs_of(const attention::Rules& rules, bool blocks, int64_t length) {
  double pairs = 0;
  for (int64_t i = 0; i < length; ++i) {
    int64_t first = rules.left < 0 ? 0 : std::max<int64_t>(0, i - rules.left);
    int64_t last = rules.causal ? i : rules.right < 0 ? length - 1 : std::min(length - 1, i + rules.right);
    if (blocks) first = i / section(length) * section(length), last = std::min(length, first + section(length)) - 1;
    pairs += static_cast<double>(last - first + 1);
  }
  return pairs;
}

void measure_length(const BenchAttentionOptions& o, int length, BenchAttentionResult& result) {
  const int threads = result.roof.threads;
  Subject s(o, length, threads);
  std::vector<attention::Problem> problems;
  for (const std::string& rule : o.rules) problems.push_back(s.problem(rule, o.window));
  const auto full = std::ranges::find(o.rules, "full") - o.rules.begin();
  for (const bool backward : {false, true}) {
    std::vector<Work> calls;
    for (size_t n = 0; n < problems.size(); ++n) {
      Batch& b = s.batch(o.rules[n]);
      // Which rule's forward was the last to leave its output there does not change a backward's speed.
      calls.push_back(backward ? Work([&, n] { attention::backward(problems[n], b.gradient, b.run); })
                               : Work([&, n] { attention::forward(problems[n], b.result, b.run); }));
    }
    const std::vector<Spread> seconds = time_in_turn({.seconds = o.seconds, .wall = threads > 1}, calls);
    for (size_t n = 0; n < calls.size(); ++n) {
      const std::vector<int64_t>& lengths = s.batch(o.rules[n]).length;
      AttentionRate rate{o.rules[n], backward, length, static_cast<int>(lengths.size()), seconds[n]};
      for (const int64_t t : lengths) {
        rate.flop += pairs_of(problems[n].rules, o.rules[n] == "blocks", t) * o.heads * o.width * (backward ? 10 : 4);
      }
      rate.fraction_of_peak = rate.flop / seconds[n].median / result.roof.fma;
      if (full < std::ssize(o.rules)) rate.against_full = seconds[n].median / seconds[static_cast<size_t>(full)].median;
      result.rates.push_back(rate);
    }
  }
}

// Caches of 64 MB at least, and one a thread, so that each is read from memory as in a model.
void measure_step(const BenchAttentionOptions& o, BenchAttentionResult& result) {
  const int64_t floats = int64_t{o.heads} * o.cache * o.width, most = std::max<int64_t>(1, (16 << 20) / std::max<int64_t>(1, 2 * floats));
  const int64_t sentences = std::max<int64_t>(result.roof.threads, most);
  std::vector<float> k(static_cast<size_t>(sentences * floats), 0.5f), v(k.size(), 0.5f);
  std::vector<float> q(static_cast<size_t>(sentences * o.heads * o.width), 0.5f), out(q.size());
  attention::Problem p;
  p.q = attention::dense(q.data(), sentences, o.heads, 1, o.width);
  p.k = attention::dense(k.data(), sentences, o.heads, o.cache, o.width);
  p.v = attention::dense(v.data(), sentences, o.heads, o.cache, o.width);
  const attention::Result to{attention::dense(out.data(), sentences, o.heads, 1, o.width)};
  const int threads = result.roof.threads;
  const Work step = [&] { attention::forward(p, to, {.threads = threads}); };
  result.step_sentences = static_cast<int>(sentences);
  result.step_seconds = time_in_turn({.seconds = o.seconds, .wall = threads > 1}, {step})[0];
  result.step_bytes_per_second = rate_spread(static_cast<double>(2 * k.size() * sizeof(float)), result.step_seconds);
  result.step_fraction_of_read = result.step_bytes_per_second.median / result.roof.read;
}

}  // namespace

const std::vector<std::string>& attention_rules() {
  static const std::vector<std::string> rules = {"full", "causal", "window", "mask", "blocks", "bias", "mixed"};
  return rules;
}

int bench_sentences(int length, int heads, int threads) {
  const int pieces = std::max({length <= 16 ? 2048 : length <= 32 ? 512 : length <= 64 ? 256 : 8192 / length, 8, 4 * threads});
  return (pieces + heads - 1) / heads;
}

BenchAttentionResult bench_attention(const BenchAttentionOptions& options) {
  BenchAttentionResult result;
  result.roof = measure_machine(threads_or_cores(options.threads), 1.0);
  for (const int length : options.lengths) measure_length(options, length, result);
  if (options.cache > 0) measure_step(options, result);
  return result;
}

}  // namespace jumok
