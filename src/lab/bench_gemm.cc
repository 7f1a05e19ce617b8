#include "lab/bench_gemm.h"

#include <algorithm>
#include <memory>

#include "autograd/output_loss.h"
#include "base/rng.h"
#include "base/workers.h"
#include "gemm/gemm.h"
#include "models/config.h"
#include "tensor/tensor.h"

namespace jumok {
namespace {

struct Layer {
  std::string model, name;
  int64_t rows, columns, inner;
  bool step = false;  // of a recurrence: its weight's gradient is one product after the last step
};

std::vector<Layer> layers_of(const std::string& preset, const BenchGemmOptions& o) {
  const ModelConfig c = model_preset(preset);
  const int64_t d = c.width, f = c.feed_forward_width;
  std::vector<Layer> layers = {{preset, "qkv", o.rows, 3 * d, d},
                               {preset, "attention-out", o.rows, d, d},
                               {preset, "feed-forward-in", o.rows, f, d},
                               {preset, "feed-forward-out", o.rows, d, f}};
  if (c.encoder_layers > 0) layers.push_back({preset, "source-kv", o.rows, 2 * d * c.decoder_layers, d});
  layers.push_back({preset, "output", std::min<int64_t>(output_chunk_rows(o.vocabulary), o.rows), o.vocabulary, d});
  return layers;
}

std::vector<Layer> all_layers(const BenchGemmOptions& o) {
  std::vector<Layer> layers;
  for (const std::string& preset : o.presets) std::ranges::copy(layers_of(preset, o), std::back_inserter(layers));
  const int64_t d = o.step_width;
  for (const int64_t rows : o.step_rows) {
    layers.push_back({"recurrent", "gru", rows, 3 * d, d, true});
    layers.push_back({"recurrent", "lstm", rows, 4 * d, d, true});
  }
  return layers;
}

// Small numbers: dw is added to for as long as it is measured.
struct Matrix {
  std::vector<float> numbers;
  Tensor view;
  Matrix(int64_t rows, int64_t columns, Rng& rng) : numbers(static_cast<size_t>(rows * padded_stride(columns))) {
    for (float& x : numbers) x = static_cast<float>(0.1 * rng.normal());
    view = {numbers.data(), rows, columns, padded_stride(columns)};
  }
};

struct Products {
  Rng rng{4};
  Matrix x, y, dx, dw, w;
  explicit Products(const Layer& l)
      : x(l.rows, l.inner, rng),
        y(l.rows, l.columns, rng),
        dx(l.rows, l.inner, rng),
        dw(l.columns, l.inner, rng),
        w(l.columns, l.inner, rng) {}
};

std::vector<Work> work_of(const Layer& l) {
  const auto p = std::make_shared<Products>(l);
  const auto output = std::make_shared<Matrix>(l.rows, l.columns, p->rng);
  std::vector<Work> work = {[p, output] { gemm::multiply_nt(p->x.view, p->w.view, output->view); },
                            [p] { gemm::multiply_nn(p->y.view, p->w.view, p->dx.view); }};
  if (!l.step) work.push_back([p] { gemm::multiply_tn(p->y.view, p->x.view, p->dw.view, true); });
  return work;
}

}  // namespace

BenchGemmResult bench_gemm(const BenchGemmOptions& o) {
  BenchGemmResult result;
  const int threads = threads_or_cores(o.threads);
  result.roof = measure_machine(threads, 1.0);
  for (const Layer& l : all_layers(o)) {
    const std::vector<Spread> seconds = time_side_by_side(threads, {.seconds = o.seconds}, [&] { return work_of(l); });
    const char* const products[] = {"forward", "dx", "dw"};
    for (size_t n = 0; n < seconds.size(); ++n) {
      GemmRate rate{l.model, l.name, products[n], l.rows, l.columns, l.inner, seconds[n]};
      const double flop = 2.0 * static_cast<double>(threads * l.rows * l.columns * l.inner);
      rate.gflops = 1e-9 * flop / seconds[n].median;
      rate.fraction_of_peak = 1e9 * rate.gflops / result.roof.fma;
      result.rates.push_back(rate);
    }
  }
  return result;
}

}  // namespace jumok
