#include "lab/bench_additive.h"

#include <jumok/attention.h>

#include <algorithm>
#include <memory>

#include "base/rng.h"
#include "base/workers.h"

namespace jumok {
namespace {

// As many sentences as make up two million elements.
int sentences_of(int64_t length, int64_t width) { return static_cast<int>(std::max<int64_t>(1, (2 << 20) / (length * length * width))); }

struct AdditiveBatch {
  std::vector<float> q, k, v, out, dout, dq, dk, dv, lse, score, dscore;
  attention::Problem problem;
  attention::Result result;
  attention::Gradient gradient;

  AdditiveBatch(int64_t length, int64_t width) {
    const int64_t sentences = sentences_of(length, width);
    Rng rng(3);
    for (auto* x : {&q, &k, &v, &out, &dout, &dq, &dk, &dv}) x->resize(static_cast<size_t>(sentences * length * width));
    lse.resize(static_cast<size_t>(sentences * length));
    for (auto* x : {&score, &dscore}) x->resize(static_cast<size_t>(width));
    for (auto* x : {&q, &k, &v, &dout, &score}) {
      for (float& y : *x) y = static_cast<float>(rng.normal());
    }
    const auto view = [&](std::vector<float>& x) { return attention::dense(x.data(), sentences, 1, length, width); };
    problem.q = view(q), problem.k = view(k), problem.v = view(v);
    result = {view(out), attention::dense(lse.data(), sentences, 1, length, 1)};
    gradient = {result.out, view(dout), result.lse, view(dq), view(dk), view(dv)};
  }
  void forward() { attention::additive_forward(problem, score.data(), result); }
  void both() {
    forward();
    attention::additive_backward(problem, score.data(), gradient, dscore.data());
  }
};

}  // namespace

BenchAdditiveResult bench_additive(const BenchAdditiveOptions& o) {
  BenchAdditiveResult result;
  const int threads = threads_or_cores(o.threads);
  result.roof = measure_machine(threads, 1.0);
  result.ns_per_tanh = 1e9 / measure_tanh(threads, 0.25);
  for (const int width : o.widths) {
    for (const int length : o.lengths) {
      const std::vector<Spread> seconds = time_side_by_side(threads, {.seconds = o.seconds}, [&] {
        const auto batch = std::make_shared<AdditiveBatch>(length, width);
        return std::vector<Work>{[batch] { batch->forward(); }, [batch] { batch->both(); }};
      });
      for (const bool backward : {false, true}) {
        AdditiveRate rate{width, length, sentences_of(length, width), backward, seconds[backward]};
        rate.ns_per_element = 1e9 * rate.seconds.median / (1.0 * rate.sentences * length * length * width);
        rate.against_tanh = rate.ns_per_element / result.ns_per_tanh;
        result.rates.push_back(rate);
      }
    }
  }
  return result;
}

}  // namespace jumok
