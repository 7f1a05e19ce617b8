#include "lab/complexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "attention/multi_head.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/rng.h"
#include "base/workers.h"
#include "gemm/gemm.h"
#include "lab/timing.h"
#include "nn/recurrent.h"
#include "report/curves.h"

namespace jumok {
namespace {

// A layer of width d with random parameters, ready to be run over a sentence of n rows.
class Layer {
 public:
  virtual ~Layer() = default;
  // x [n, d]; the result stays in the arena.
  void run(const Tensor& x) {
    arena_.reset();
    Context context{arena_, parameters_.data()};
    forward(context, Variable{x});
  }

 protected:
  void initialise(uint64_t seed) {
    parameters_.resize(static_cast<size_t>(layout_.size()));
    layout_.initialise(parameters_.data(), seed);
  }
  virtual void forward(Context& context, const Variable& x) = 0;
  ParameterLayout layout_;

 private:
  Arena arena_;
  std::vector<float> parameters_;
};

// Scores, softmax and mix alone: the n² d of table 1. Queries, keys and values are the input itself.
class AttentionAlone : public Layer {
 protected:
  void forward(Context& context, const Variable& x) override {
    const int32_t begin[] = {0}, length[] = {static_cast<int32_t>(x.value.rows)};
    ScaledDotInput in;
    in.q = in.k = in.v = x;
    in.rows = {begin, length, begin, length};
    in.scale = 1 / std::sqrt(static_cast<float>(x.value.columns));
    scaled_dot(context, in);
  }
};

// With W_Q, W_K, W_V and W_O: 4 n d² more.
class AttentionLayer : public Layer {
 public:
  AttentionLayer(int width, uint64_t seed) {
    HeadOptions o;
    o.width = width;
    attention_ = SelfAttention::make(layout_, "attention", o);
    initialise(seed);
  }

 protected:
  void forward(Context& context, const Variable& x) override {
    const int32_t begin[] = {0}, length[] = {static_cast<int32_t>(x.value.rows)};
    attention_(context, x, {{begin, length, begin, length}, false, {}, nullptr});
  }

 private:
  SelfAttention attention_;
};

// h_t = tanh(W x_t + U h_{t-1}): W over all rows at once, U row by row.
class RecurrentLayer : public Layer {
 public:
  RecurrentLayer(int width, uint64_t seed) : layer_(Recurrent::make(layout_, "recurrent", kernels::Cell::kTanh, width, width)) {
    initialise(seed);
  }

 protected:
  void forward(Context& context, const Variable& x) override {
    const int32_t begin[] = {0}, length[] = {static_cast<int32_t>(x.value.rows)};
    RecurrentInput in = layer_.over(layer_.input(context, x));
    in.begin = begin;
    in.length = length;
    recurrent(context, in);
  }

 private:
  Recurrent layer_;
};

// y_i = W [x_{i-k/2}; …; x_{i+k/2}]: the k neighbours of every row side by side (zeros beyond the ends), and one product.
class ConvolutionLayer : public Layer {
 public:
  ConvolutionLayer(int width, int kernel, uint64_t seed)
      : kernel_(kernel), layer_(Linear::make(layout_, "convolution", kernel * width, width)) {
    initialise(seed);
  }

 protected:
  void forward(Context& context, const Variable& x) override {
    const Tensor& in = x.value;
    const Variable rows = context.result(in.rows, kernel_ * in.columns);
    for (int64_t i = 0; i < in.rows; ++i) {
      for (int k = 0; k < kernel_; ++k) {
        const int64_t from = i + k - kernel_ / 2;
        float* to = rows.value.row(i) + k * in.columns;
        from >= 0 && from < in.rows ? std::copy_n(in.row(from), in.columns, to) : std::fill_n(to, in.columns, 0.0f);
      }
    }
    layer_(context, rows);
  }

 private:
  int kernel_;
  Linear layer_;
};

using Maker = std::function<std::unique_ptr<Layer>(int width)>;

double seconds_of(Layer& layer, int n, int d, double budget) {
  Arena arena;
  const Tensor x = arena.tensor(n, d);
  Rng rng(hash_words(3, n, d));
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t c = 0; c < d; ++c) x.row(r)[c] = static_cast<float>(rng.normal());
  }
  return median_seconds([&] { layer.run(x); }, budget);
}

void measure(LayerCost& cost, const Maker& make, const ComplexityOptions& o) {
  const auto layer = make(o.width);
  for (const int n : o.lengths) cost.seconds_by_length.push_back(seconds_of(*layer, n, o.width, o.seconds));
  for (const int d : o.widths) cost.seconds_by_width.push_back(seconds_of(*make(d), o.length, d, o.seconds));
  const auto fitted = [](const std::vector<int>& sizes, const std::vector<double>& seconds) {
    constexpr size_t kUpper = 3;
    return fit_power(upper({sizes.begin(), sizes.end()}, kUpper), upper(seconds, kUpper)).exponent;
  };
  cost.fitted_n = fitted(o.lengths, cost.seconds_by_length);
  cost.fitted_d = fitted(o.widths, cost.seconds_by_width);
}

std::vector<ProductRate> measure_products(int width, double budget) {
  std::vector<float> a(static_cast<size_t>(1024) * width, 0.5f), b(static_cast<size_t>(width) * width, 0.25f), c(a.size());
  std::vector<ProductRate> rates;
  for (int m = 1; m <= 1024; m *= 2) {
    const double s = median_seconds(
        [&] {
          gemm::multiply_nt({a.data(), m, width, width}, {b.data(), width, width, width}, {c.data(), m, width, width});
        },
        budget);
    rates.push_back({m, 2.0 * m * width * width / s});
  }
  return rates;
}

// What table 1 says of each layer.
std::vector<LayerCost> known_layers(const ComplexityOptions& o) {
  const double n = *std::max_element(o.lengths.begin(), o.lengths.end()), k = o.kernel;
  const auto cost = [](const char* layer, const char* operations, double en, double ed) {
    LayerCost c;
    c.layer = layer;
    c.operations = operations;
    c.expected_n = en;
    c.expected_d = ed;
    c.steps = c.path = 1;
    c.steps_formula = c.path_formula = "1";
    return c;
  };
  std::vector<LayerCost> all = {cost("attention alone", "n²·d", 2, 1), cost("self-attention", "n²·d + 4·n·d²", 2, 2),
                                cost("recurrent (tanh)", "n·d²", 1, 2), cost("convolution", "k·n·d²", 1, 2)};
  all[2].steps = all[2].path = n;
  all[2].steps_formula = all[2].path_formula = "n";
  all[3].path = std::ceil(n / k);
  all[3].path_formula = "n/k";
  if (k > 1) all[3].path_formula += fmt::format("; dilated log_k n = {:.0f}", std::ceil(std::log(n) / std::log(k) - 1e-9));
  return all;
}

std::vector<double> doubles(const std::vector<int>& v) { return {v.begin(), v.end()}; }

LabFigure chart(const ComplexityResult& r, bool by_length) {
  std::vector<Series> series;
  for (const LayerCost& c : r.layers) {
    series.push_back({c.layer, doubles(by_length ? r.lengths : r.widths), by_length ? c.seconds_by_length : c.seconds_by_width});
    for (double& s : series.back().y) s *= 1e6;
  }
  const std::string title =
      by_length ? fmt::format("Time against length n, d = {}", r.width) : fmt::format("Time against width d, n = {}", r.length);
  return {curves_svg({.title = title, .x_label = by_length ? "n" : "d", .y_label = "microseconds", .log_x = true, .log_y = true}, series),
          ""};
}

LabSection exponents(const ComplexityResult& r) {
  LabSection s{"Exponents", "", {}, {}, {chart(r, true), chart(r, false)}};
  LabTable t{fmt::format("Fitted through the upper three points, n at d = {}, d at n = {}. Attention alone: scores, softmax and mix, "
                         "without the projections. A sum of terms lies between its exponents; small sizes "
                         "are below them, where calls and memory count.",
                         r.width, r.length),
             {"layer", "operations", "n fitted", "n expected", "d fitted", "d expected"},
             {}};
  for (const LayerCost& c : r.layers) {
    t.rows.push_back({c.layer, c.operations, fmt::format("{:.2f}", c.fitted_n), fmt::format("{:.0f}", c.expected_n),
                      fmt::format("{:.2f}", c.fitted_d), fmt::format("{:.0f}", c.expected_d)});
  }
  s.tables.push_back(t);
  return s;
}

LabSection times(const ComplexityResult& r) {
  LabSection s{"Times", "", {}, {}, {}};
  for (const bool by_length : {true, false}) {
    LabTable t{by_length ? fmt::format("Microseconds (processor time) of a forward pass over one sentence, one thread, d = {}.", r.width)
                         : fmt::format("The same against d, n = {}.", r.length),
               {"layer"},
               {}};
    for (const int size : by_length ? r.lengths : r.widths) t.header.push_back(fmt::format("{} = {}", by_length ? "n" : "d", size));
    for (const LayerCost& c : r.layers) {
      t.rows.push_back({c.layer});
      for (const double seconds : by_length ? c.seconds_by_length : c.seconds_by_width)
        t.rows.back().push_back(fmt::format("{:.1f}", seconds * 1e6));
    }
    s.tables.push_back(t);
  }
  return s;
}

LabSection steps(const ComplexityResult& r) {
  const int n = *std::max_element(r.lengths.begin(), r.lengths.end());
  LabSection s{"What cannot be done at once, and how far a signal travels", "", {}, {}, {}};
  LabTable t{fmt::format(
                 "At n = {}, k = {}. A layer's steps must wait for each other; the path is the most layers or steps between two positions.",
                 n, r.kernel),
             {"layer", "sequential steps", "formula", "longest path", "formula", "time per step, µs"},
             {}};
  for (const LayerCost& c : r.layers) {
    t.rows.push_back({c.layer, fmt::format("{:.0f}", c.steps), c.steps_formula, fmt::format("{:.0f}", c.path), c.path_formula,
                      fmt::format("{:.1f}", 1e6 * c.seconds_by_length.back() / c.steps)});
  }
  s.tables.push_back(t);
  return s;
}

LabSection products(const ComplexityResult& r) {
  double best = 0;
  for (const ProductRate& p : r.products) best = std::max(best, p.flops);
  LabSection s{
      "Why many rows at once",
      "",
      {"A product of few rows reads all weights for little work: the recurrent step (one row a sentence) pays this at every step."},
      {},
      {}};
  LabTable t{fmt::format("[rows, {0}] × [{0}, {0}].", r.product_width), {"rows", "GFLOP/s", "share of the best"}, {}};
  Series series{"GFLOP/s", {}, {}};
  for (const ProductRate& p : r.products) {
    t.rows.push_back({std::to_string(p.rows), fmt::format("{:.1f}", p.flops / 1e9), fmt::format("{:.0f} %", 100 * p.flops / best)});
    series.x.push_back(p.rows);
    series.y.push_back(p.flops / 1e9);
  }
  s.tables.push_back(t);
  s.figures.push_back(
      {curves_svg({.title = "Rate of a product", .x_label = "rows", .y_label = "GFLOP/s", .log_x = true, .y_from_zero = true}, {series}),
       ""});
  return s;
}

}  // namespace

void check_options(const ComplexityOptions& o) {
  for (const auto* sizes : {&o.lengths, &o.widths}) {
    check(sizes->size() >= 2 && std::is_sorted(sizes->begin(), sizes->end(), std::less_equal<>()) && sizes->front() >= 1,
          "complexity: expected two rising sizes or more for lengths and for widths");
  }
  check(o.kernel >= 1 && o.width >= 1 && o.length >= 1, "complexity: expected a kernel, width and length of 1 or more");
}

ComplexityResult run_complexity(const ComplexityOptions& o) {
  check_options(o);
  constexpr int kProductWidth = 512;
  ComplexityResult r{o.lengths, o.widths, o.width, o.length, o.kernel, kProductWidth, known_layers(o), {}};
  const uint64_t seed = o.run.seed;
  const Maker makers[] = {[](int) { return std::make_unique<AttentionAlone>(); },
                          [=](int d) { return std::make_unique<AttentionLayer>(d, seed); },
                          [=](int d) { return std::make_unique<RecurrentLayer>(d, seed); },
                          [=](int d) { return std::make_unique<ConvolutionLayer>(d, o.kernel, seed); }};
  Workers(1, flush_denormals).run(1, [&](int, int) {
    for (size_t l = 0; l < r.layers.size(); ++l) {
      o.run.tell(static_cast<double>(l) / 5, r.layers[l].layer);
      measure(r.layers[l], makers[l], o);
    }
    o.run.tell(0.8, "products");
    r.products = measure_products(kProductWidth, o.seconds);
  });
  return r;
}

LabReport report_of(const ComplexityResult& r) {
  return {"What a layer costs",
          "Time of one self-attention, recurrent and convolutional layer against the length n of a sentence and the width d, beside "
          "the orders of Vaswani et al. 2017, table 1.",
          {exponents(r), steps(r), products(r), times(r)}};
}

nlohmann::ordered_json to_json(const ComplexityResult& r) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array(), rates = nlohmann::ordered_json::array();
  for (const LayerCost& c : r.layers) {
    layers.push_back({{"layer", c.layer},
                      {"operations", c.operations},
                      {"exponent_n", {{"fitted", c.fitted_n}, {"expected", c.expected_n}}},
                      {"exponent_d", {{"fitted", c.fitted_d}, {"expected", c.expected_d}}},
                      {"seconds_by_length", c.seconds_by_length},
                      {"seconds_by_width", c.seconds_by_width},
                      {"sequential_steps", c.steps},
                      {"longest_path", c.path}});
  }
  for (const ProductRate& p : r.products) rates.push_back({{"rows", p.rows}, {"flop_per_second", p.flops}});
  return {{"experiment", "complexity"}, {"lengths", r.lengths}, {"widths", r.widths}, {"width", r.width},
          {"length", r.length},         {"kernel", r.kernel},   {"layers", layers},   {"products", rates}};
}

}  // namespace jumok
