#include "lab/kv_cache_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/workers.h"
#include "jumok/attention.h"
#include "lab/timing.h"
#include "models/language_model.h"
#include "models/transformer.h"

namespace jumok {
namespace {

constexpr int32_t kSymbol = 5;  // any: time does not depend on it
constexpr int64_t kBytes = sizeof(float);

ModelConfig config_of(const std::string& preset, int vocabulary, int longest) {
  ModelConfig c = model_preset(preset);
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.max_positions = std::max(c.max_positions, longest + 1);
  return c;
}

PackedRows sentence(int n) {
  PackedRows rows;
  rows.ids.assign(static_cast<size_t>(n), kSymbol);
  rows.position.resize(static_cast<size_t>(n));
  std::iota(rows.position.begin(), rows.position.end(), 0);
  rows.begin = {0};
  rows.length = {n};
  rows.sentence = {0};
  return rows;
}

// A whole generation, step by step: seconds of each, [length].
std::vector<double> generation(const EncoderDecoder& model, const float* parameters, const KvCacheOptions& o, int length) {
  std::vector<double> seconds;
  const int32_t parent = 0, symbol = kSymbol;
  const auto stepper = model.start(parameters, sentence(o.source_length));
  for (int t = 0; t < length; ++t) {
    const double begin = thread_seconds();
    stepper->step({&parent, 1}, {&symbol, 1});
    seconds.push_back(thread_seconds() - begin);
  }
  return seconds;
}

// Median seconds of every step of `passes` whole generations, [length].
std::vector<double> step_times(const EncoderDecoder& model, const float* parameters, const KvCacheOptions& o, int length) {
  // What a process does but once (products prepared, memory touched) would stand in the first times: the first 16 symbols of lm-tiny took
  // 64 ms instead of 26.
  o.run.tell(0, "warming up");
  generation(model, parameters, o, length);
  std::vector<std::vector<double>> times(static_cast<size_t>(length));
  for (int pass = 0; pass < o.passes; ++pass) {
    const std::vector<double> seconds = generation(model, parameters, o, length);
    for (size_t t = 0; t < times.size(); ++t) times[t].push_back(seconds[t]);
  }
  std::vector<double> medians;
  for (auto& t : times) {
    std::nth_element(t.begin(), t.begin() + static_cast<long>(t.size() / 2), t.end());
    medians.push_back(t[t.size() / 2]);
  }
  return medians;
}

// The steps around the n-th, whose times hardly differ: one alone may have met an interruption.
double around(const std::vector<double>& times, int n) {
  constexpr int kAround = 4;
  const int begin = std::max(0, n - kAround), end = std::min(static_cast<int>(times.size()), n + kAround);
  std::vector<double> near(times.begin() + begin, times.begin() + end);
  std::nth_element(near.begin(), near.begin() + static_cast<long>(near.size() / 2), near.end());
  return near[near.size() / 2];
}

// The n-th symbol from all before it: the decoder over n rows, the logits of the last.
double pass_time(const EncoderDecoder& model, const float* parameters, const KvCacheOptions& o, int n) {
  Arena memory_arena, arena;
  Context keeping{memory_arena, parameters};
  const PackedRows source = sentence(o.source_length), target = sentence(n);
  const auto* const translator = dynamic_cast<const Transformer*>(&model);
  std::vector<Variable> memory;
  if (translator != nullptr) memory = translator->project_memory(keeping, translator->encode(keeping, {source, {}, {}}, nullptr));
  std::vector<float> logits(static_cast<size_t>(model.config().target_vocabulary));
  return median_seconds(
      [&] {
        arena.reset();
        Context context{arena, parameters};
        const TransformerRows rows{target, {}, {}};
        const Variable h = translator != nullptr ? translator->decode(context, memory, source, rows, nullptr)
                                                 : dynamic_cast<const LanguageModel&>(model).decode(context, rows, nullptr);
        output_logits(context, {{h.value.row_slice(n - 1, 1)}, model.output_weight(), {}, {}}, logits.data());
      },
      0);
}

// A prompt of n symbols in one pass, its keys and values kept; 0 where the model does not read prompts so.
double prompt_time(const EncoderDecoder& model, const float* parameters, int n) {
  const std::vector<std::vector<int32_t>> prompt = {std::vector<int32_t>(static_cast<size_t>(n), kSymbol)};
  const PackedRows none = sentence(1);
  if (model.start(parameters, none)->read_prompts(prompt).empty()) return 0;
  return median_seconds([&] { model.start(parameters, none)->read_prompts(prompt); }, 0);
}

// Causal attention of `queries` newest positions over n keys.
double attention_time(const ModelConfig& c, int queries, int n) {
  const int d = c.width / c.heads;
  std::vector<float> q(static_cast<size_t>(queries) * c.width, 0.1f), k(static_cast<size_t>(n) * c.width, 0.1f), out(q.size());
  attention::Problem p;
  p.q = attention::interleaved(q.data(), 1, c.heads, queries, d);
  p.k = p.v = attention::interleaved(k.data(), 1, c.heads, n, d);
  p.rules.causal = true;
  std::vector<float> workspace(attention::forward_workspace(p) / sizeof(float) + 1);
  attention::Run run;
  run.workspace = workspace.data();
  run.workspace_bytes = workspace.size() * sizeof(float);
  return median_seconds([&] { attention::forward(p, {.out = attention::interleaved(out.data(), 1, c.heads, queries, d)}, run); }, 0.005);
}

// A cache of its own, filled as a generation fills it.
void measure_bytes(std::vector<KvCacheRow>& rows, const ModelConfig& c) {
  KvCache cache(c.decoder_layers, c.width);
  std::vector<float> row(static_cast<size_t>(c.width));
  const Tensor one{row.data(), 1, c.width, c.width};
  const int32_t parent = 0, zero = 0, single = 1;
  int length = 0;
  for (KvCacheRow& r : rows) {
    for (; length < r.length; ++length) {
      cache.follow({&parent, 1});
      for (int l = 0; l < c.decoder_layers; ++l) cache.append(static_cast<size_t>(l), one, one);
    }
    const AttentionRows read = cache.rows({&zero, 1}, {&single, 1});
    for (int l = 0; l < c.decoder_layers; ++l) {
      const Tensor k = cache.keys(static_cast<size_t>(l)), v = cache.values(static_cast<size_t>(l));
      r.read_bytes += (k.columns + v.columns) * read.key_length[0] * kBytes;
      r.reserved_bytes += (k.rows * k.columns + v.rows * v.columns) * kBytes;
    }
    r.formula_bytes = int64_t{2} * c.decoder_layers * c.width * r.length * kBytes;
  }
}

// What a step multiplies with: the decoder's layers but for the projections of the source, and the output layer.
KvCacheCrossing crossing_of(const std::string& preset, int vocabulary) {
  const ModelConfig c = config_of(preset, vocabulary, 0);
  KvCacheCrossing crossing{preset, int64_t{vocabulary} * c.width * kBytes, int64_t{2} * c.decoder_layers * c.width * kBytes};
  const auto model = make_model(c);
  for (const auto& e : model->layout().entries()) {
    const bool of_source =
        e.name.find("cross_attention.key") != std::string::npos || e.name.find("cross_attention.value") != std::string::npos;
    if (e.name.starts_with("decoder.layers.") && !of_source) crossing.weight_bytes += e.parameter.rows * e.parameter.columns * kBytes;
  }
  return crossing;
}

// Passes at every length from those measured, between which time is taken as linear.
double sum_of_passes(const std::vector<KvCacheRow>& rows, int length) {
  double sum = 0;
  size_t r = 0;
  for (int n = 1; n <= length; ++n) {
    while (r + 2 < rows.size() && rows[r + 1].length < n) ++r;
    const KvCacheRow &a = rows[r], &b = rows[r + 1];
    const double share = static_cast<double>(n - a.length) / (b.length - a.length);
    sum += std::max(0.0, a.pass_seconds + share * (b.pass_seconds - a.pass_seconds));
  }
  return sum;
}

double exponent(const std::vector<KvCacheRow>& rows, double KvCacheRow::*seconds) {
  constexpr size_t kUpper = 3;
  std::vector<double> x, y;
  for (const KvCacheRow& r : rows) x.push_back(r.length), y.push_back(r.*seconds);
  return fit_power(upper(x, kUpper), upper(y, kUpper)).exponent;
}

void measure(KvCacheResult& r, const EncoderDecoder& model, const KvCacheOptions& o, int length) {
  std::vector<float> parameters(static_cast<size_t>(model.layout().size()));
  model.layout().initialise(parameters.data(), o.run.seed);
  const std::vector<double> steps = step_times(model, parameters.data(), o, length);
  r.generate_with = std::accumulate(steps.begin(), steps.end(), 0.0);
  for (KvCacheRow& row : r.rows) {
    o.run.tell(static_cast<double>(row.length) / length, fmt::format("length {}", row.length));
    row.step_seconds = around(steps, row.length - 1);
    row.pass_seconds = pass_time(model, parameters.data(), o, row.length);
    row.steps_seconds = std::accumulate(steps.begin(), steps.begin() + row.length, 0.0);
    row.prompt_seconds = prompt_time(model, parameters.data(), row.length);
    row.attention_step_seconds = attention_time(model.config(), 1, row.length);
    row.attention_pass_seconds = attention_time(model.config(), row.length, row.length);
  }
  r.generate_without = sum_of_passes(r.rows, length);
  std::vector<double> n(steps.size());
  std::iota(n.begin(), n.end(), 1);
  const Line line = fit_line(n, steps);
  r.measured_crossing = line.slope > 0 ? line.base / line.slope : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void check_options(const KvCacheOptions& o) {
  check(o.length >= 32 && o.length <= 65536 && o.source_length >= 1 && o.passes >= 1,
        "kv-cache: expected a length of 32 to 65536, a source and a pass or more, found {}, {}, {}", o.length, o.source_length, o.passes);
  check(model_preset(o.preset).architecture != Architecture::kRnn,
        "kv-cache: preset {}: expected a Transformer or a language model; a recurrent decoder has no cache", o.preset);
}

KvCacheResult run_kv_cache(const KvCacheOptions& o) {
  check_options(o);
  const int length = o.length;
  const auto model = make_model(config_of(o.preset, o.vocabulary, std::max(length, o.source_length)));
  KvCacheResult r;
  r.preset = o.preset;
  r.layers = model->config().decoder_layers;
  r.width = model->config().width;
  r.vocabulary = o.vocabulary;
  for (int n = 16; n < length; n *= 2) r.rows.push_back({n});
  r.rows.push_back({length});
  measure_bytes(r.rows, model->config());
  Workers(1, flush_denormals).run(1, [&](int, int) { measure(r, *model, o, length); });
  r.pass_exponent = exponent(r.rows, &KvCacheRow::pass_seconds);
  r.step_exponent = exponent(r.rows, &KvCacheRow::step_seconds);
  r.attention_pass_exponent = exponent(r.rows, &KvCacheRow::attention_pass_seconds);
  r.attention_step_exponent = exponent(r.rows, &KvCacheRow::attention_step_seconds);
  for (const char* preset : {"transformer-tiny", "transformer-small", "transformer-base", "transformer-big", "lm-tiny", "lm-small"}) {
    r.crossings.push_back(crossing_of(preset, o.vocabulary));
  }
  return r;
}

}  // namespace jumok
