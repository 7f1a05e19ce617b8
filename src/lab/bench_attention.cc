#include "lab/bench_attention.h"

#include <jumok/attention.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"

namespace jumok {
namespace {

// Processor time of this thread: what other programs take away does not count.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

using Call = std::function<void()>;

// Seconds of one call of each, measured in turn, so that their ratios come from the same moments: rounds of some 2 ms, at least five, until
// `seconds` a call are spent.
std::vector<Spread> time_in_turn(double seconds, const std::vector<Call>& calls) {
  std::vector<int> repeats;
  std::vector<std::vector<double>> times(calls.size());
  for (const Call& call : calls) {
    const double begin = thread_seconds();
    call();
    repeats.push_back(std::max(1, static_cast<int>(0.002 / std::max(thread_seconds() - begin, 1e-7))));
  }
  const double begin = thread_seconds(), end = begin + seconds * static_cast<double>(calls.size());
  while (times[0].size() < 5 || thread_seconds() < end) {
    for (size_t n = 0; n < calls.size(); ++n) {
      const double round = thread_seconds();
      for (int i = 0; i < repeats[n]; ++i) calls[n]();
      times[n].push_back((thread_seconds() - round) / repeats[n]);
    }
  }
  std::vector<Spread> spreads;
  for (const auto& t : times) spreads.push_back(spread_of(t));
  return spreads;
}

// One sentence of H heads, its gradients, a mask and a bias for all heads.
struct Sentence {
  std::vector<float> q, k, v, out, dout, dq, dk, dv, lse, bias;
  std::vector<uint8_t> mask;
  std::vector<char> workspace;
  attention::Problem problem;
  attention::Result result;
  attention::Gradient gradient;

  Sentence(int64_t heads, int64_t length, int64_t width) {
    const auto count = static_cast<size_t>(heads * length * width), pairs = static_cast<size_t>(length * length);
    Rng rng(1);
    for (auto* x : {&q, &k, &v, &out, &dout, &dq, &dk, &dv}) x->resize(count);
    for (auto* x : {&q, &k, &v, &dout}) {
      for (float& y : *x) y = static_cast<float>(rng.normal());
    }
    lse.resize(static_cast<size_t>(heads * length));
    bias.resize(pairs);
    mask.resize(pairs);
    for (size_t n = 0; n < pairs; ++n) bias[n] = static_cast<float>(rng.uniform()), mask[n] = rng.below(4) != 0;
    const auto view = [&](std::vector<float>& x) { return attention::dense(x.data(), 1, heads, length, width); };
    problem.q = view(q), problem.k = view(k), problem.v = view(v);
    result = {view(out), attention::dense(lse.data(), 1, heads, length, 1)};
    gradient = {result.out, view(dout), result.lse, view(dq), view(dk), view(dv)};
    workspace.resize(attention::backward_workspace(problem));
  }
};

constexpr const char* kRules[] = {"full", "causal", "window", "mask", "bias"};

attention::Problem ruled_problem(const std::string& rule, int window, const Sentence& s) {
  attention::Problem p = s.problem;
  attention::Rules& rules = p.rules;
  rules.causal = rule == "causal";
  if (rule == "window") rules.left = window / 2, rules.right = window - window / 2 - 1;
  if (rule == "mask") rules.mask = {s.mask.data(), 0, 0, p.q.rows, 1};
  if (rule == "bias") rules.bias = {s.bias.data(), 0, 0, p.q.rows, 1};
  return p;
}

// The pairs that position allows of one head.
double pairs_of(const attention::Rules& rules, int64_t length) {
  double pairs = 0;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t first = rules.left < 0 ? 0 : std::max<int64_t>(0, i - rules.left);
    const int64_t last = rules.causal ? i : rules.right < 0 ? length - 1 : std::min(length - 1, i + rules.right);
    pairs += static_cast<double>(last - first + 1);
  }
  return pairs;
}

void measure_length(const BenchAttentionOptions& o, int length, BenchAttentionResult& result) {
  Sentence s(o.heads, length, o.width);
  const attention::Run run{1, s.workspace.data(), s.workspace.size()};
  std::vector<attention::Problem> problems;
  for (const char* rule : kRules) problems.push_back(ruled_problem(rule, o.window, s));
  for (const bool backward : {false, true}) {
    std::vector<Call> calls;
    for (const attention::Problem& p : problems) {
      // A backward's speed does not depend on which rule's output stands there.
      calls.push_back(backward ? Call([&] { attention::backward(p, s.gradient, run); })
                               : Call([&] { attention::forward(p, s.result, run); }));
    }
    attention::forward(problems[0], s.result, run);
    const std::vector<Spread> seconds = time_in_turn(o.seconds, calls);
    for (size_t n = 0; n < calls.size(); ++n) {
      AttentionRate rate{kRules[n], backward, length, seconds[n]};
      rate.flop = pairs_of(problems[n].rules, length) * o.heads * o.width * (backward ? 10 : 4);
      rate.fraction_of_peak = rate.flop / seconds[n].median / result.roof.fma;
      rate.against_full = seconds[n].median / seconds[0].median;
      result.rates.push_back(rate);
    }
  }
}

// Layers of caches in turn, 64 MB at least, so that each is read from memory as in a model.
void measure_step(const BenchAttentionOptions& o, BenchAttentionResult& result) {
  const int64_t floats = int64_t{o.heads} * o.cache * o.width, layers = std::max<int64_t>(1, (16 << 20) / std::max<int64_t>(1, 2 * floats));
  std::vector<float> cache(static_cast<size_t>(2 * layers * floats), 0.5f), q(static_cast<size_t>(o.heads * o.width), 0.5f), out(q.size());
  attention::Problem p;
  p.q = attention::dense(q.data(), 1, o.heads, 1, o.width);
  const Call all_layers = [&] {
    for (int64_t layer = 0; layer < layers; ++layer) {
      p.k = attention::dense(cache.data() + 2 * layer * floats, 1, o.heads, o.cache, o.width);
      p.v = attention::dense(cache.data() + (2 * layer + 1) * floats, 1, o.heads, o.cache, o.width);
      attention::forward(p, {attention::dense(out.data(), 1, o.heads, 1, o.width)});
    }
  };
  const Spread seconds = time_in_turn(o.seconds, {all_layers})[0];
  const double bytes = static_cast<double>(cache.size() * sizeof(float));
  result.step_bytes_per_second = {bytes / seconds.median, bytes / seconds.most, bytes / seconds.least};
  result.step_fraction_of_read = result.step_bytes_per_second.median / result.roof.read;
}

}  // namespace

BenchAttentionResult bench_attention(const BenchAttentionOptions& options) {
  BenchAttentionResult result;
  result.roof = measure_machine(1, 1.0);
  for (const int length : options.lengths) measure_length(options, length, result);
  measure_step(options, result);
  return result;
}

}  // namespace jumok
