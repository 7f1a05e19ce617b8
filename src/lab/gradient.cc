#include "lab/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/workers.h"
#include "lab/timing.h"
#include "models/encoder_decoder.h"
#include "report/curves.h"
#include "text/subwords.h"

namespace jumok {
namespace {

// One-way encoders that read from the first word to the last, so that the distance of word j is the number of steps from it to the end.
std::vector<Contender> contenders() {
  const std::vector<std::string> one_way = {"encoder.bidirectional=false", "encoder.reversed=false"};
  const auto rnn = [&](const char* name, const char* preset, std::vector<std::string> settings) {
    settings.insert(settings.end(), one_way.begin(), one_way.end());
    return Contender{name, preset, settings};
  };
  return {rnn("none, tanh", "rnn-none", {"rnn.cell=tanh"}),         rnn("none, LSTM", "rnn-none", {"rnn.cell=lstm"}),
          rnn("none, GRU", "rnn-none", {"rnn.cell=gru"}),           rnn("bahdanau, GRU", "rnn-bahdanau", {}),
          rnn("luong, GRU", "rnn-luong-general", {"rnn.cell=gru"}), {"transformer", "transformer-tiny", {}}};
}

// The factor of a step by theory, at first values and small inputs, where gates stand at the sigmoid of their bias and a recurrent matrix
// of variance 1/D has spectral radius 1. tanh: 1. LSTM: f + i·o·1 = σ(1) + 1/4 in c. GRU: z + (1 - z)·r·1 = 1/2 + 1/4.
double theory(const Contender& c) {
  if (c.preset != "rnn-none") return 1;  // a weight that knows no distance
  const std::string& cell = c.settings.front();
  return cell == "rnn.cell=gru" ? 0.75 : cell == "rnn.cell=lstm" ? 1 / (1 + std::exp(-1.0)) + 0.25 : 1;
}

ModelConfig config_of(const Contender& c, const GradientOptions& o, int length) {
  ModelConfig config = model_preset(c.preset);
  Settings settings = model_settings(config);
  settings.set_assignment(fmt::format("model.width={}", o.width), "width");
  for (const std::string& s : c.settings) settings.set_assignment(s, c.name);
  config.rnn.encoder_width = o.width;
  config.source_vocabulary = config.target_vocabulary = length + 3;
  config.max_positions = std::max(config.max_positions, length + 2);
  return config;
}

// Adds sign · ∂/∂h_j of the loss of the first `words` output words to `sum` [length + 1, D]: a row for each source word and the end symbol.
void add_gradient(std::vector<float>& sum, const EncoderDecoder& model, const std::vector<float>& parameters,
                  const std::vector<int32_t>& symbols, int words, float sign) {
  const PackedRows source = pack_source(std::vector<std::vector<int32_t>>{symbols});
  PackedTarget target = pack_target(std::vector<std::vector<int32_t>>{{symbols.begin(), symbols.begin() + words - 1}});
  target.labels.back() = symbols[static_cast<size_t>(words - 1)];  // a word, not the end
  std::vector<float> gradients(parameters.size()), part(sum.size());
  Arena arena;
  Tape tape;
  Context context{arena, parameters.data(), &tape, gradients.data()};
  PairBatch batch{source, target, {}, {}};
  const int64_t width = static_cast<int64_t>(sum.size()) / source.rows();
  batch.encoder_gradient = {part.data(), source.rows(), width, width};
  model.loss(context, batch);
  tape.backward();
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += sign * part[i];
}

// Adds the norm of every word's gradient. The loss of one output word is that of all up to it less that of those before it.
void add_norms(std::vector<double>& norms, const EncoderDecoder& model, int word, uint64_t seed) {
  std::vector<int32_t> symbols(norms.size());
  std::iota(symbols.begin(), symbols.end(), 3);
  Rng rng(hash_words(seed, 11));
  rng.shuffle(symbols);
  std::vector<float> parameters(static_cast<size_t>(model.layout().size()));
  model.layout().initialise(parameters.data(), seed);
  const auto width = static_cast<size_t>(model.config().width);
  std::vector<float> gradient((norms.size() + 1) * width);
  add_gradient(gradient, model, parameters, symbols, word, 1);
  if (word > 1) add_gradient(gradient, model, parameters, symbols, word - 1, -1);
  for (size_t k = 0; k < norms.size(); ++k) {  // k words before the end
    const float* row = gradient.data() + (norms.size() - 1 - k) * width;
    norms[k] += std::sqrt(std::inner_product(row, row + width, row, 0.0));
  }
}

void summarise(GradientRow& row) {
  const size_t tenth = std::max<size_t>(1, row.norms.size() / 10);
  const auto mean = [&](size_t begin) {
    return std::accumulate(row.norms.begin() + static_cast<long>(begin), row.norms.begin() + static_cast<long>(begin + tenth), 0.0) /
           static_cast<double>(tenth);
  };
  row.kept = mean(row.norms.size() - tenth) / mean(0);
  std::vector<double> steps, logs;
  for (size_t k = 0; k < row.norms.size(); ++k) {
    if (row.norms[k] > 0) steps.push_back(static_cast<double>(k)), logs.push_back(std::log(row.norms[k]));
  }
  row.decay = std::exp(fit_line(steps, logs).slope);
}

}  // namespace

void check_options(const GradientOptions& o) {
  check(o.length >= 2 && o.length <= 10000 && o.sentences >= 1 && o.width >= 8,
        "gradient: expected 2 to 10000 words, a sentence and a width of 8 or more");
  check(o.word >= 1 && o.word <= o.length, "gradient: expected an output word from 1 to {}, the length of the source, found {}", o.length,
        o.word);
}

GradientResult run_gradient(const GradientOptions& o) {
  check_options(o);
  const int length = o.length, sentences = o.sentences;
  GradientResult r{length, sentences, o.word, {}};
  Workers workers(threads_or_cores(o.run.threads), flush_denormals);
  const std::vector<Contender> all = contenders();
  for (const Contender& c : all) {
    o.run.tell(static_cast<double>(r.rows.size()) / static_cast<double>(all.size()), c.name);
    const auto model = make_model(config_of(c, o, length));
    std::vector<std::vector<double>> norms(static_cast<size_t>(sentences), std::vector<double>(static_cast<size_t>(length)));
    workers.run(sentences, [&](int s, int) { add_norms(norms[static_cast<size_t>(s)], *model, o.word, hash_words(o.run.seed, s)); });
    GradientRow row{c.name, c, std::vector<double>(static_cast<size_t>(length)), 0, 0, theory(c)};
    for (const auto& one : norms) {
      for (size_t k = 0; k < one.size(); ++k) row.norms[k] += one[k] / sentences;
    }
    summarise(row);
    r.rows.push_back(std::move(row));
  }
  return r;
}

LabReport report_of(const GradientResult& r) {
  LabReport report{
      "How much gradient arrives at a source word?",
      "The loss of one output word, and what of it arrives at the encoder's state of each word of the source: without attention it passes "
      "every step between the two, with attention one weight.",
      {}};
  LabSection s{
      "Norm of the gradient against distance",
      fmt::format(
          "|∂loss_{0} / ∂h_j|     h_j: the encoder's output for source word j\ndistance: steps from word j to the end of the source, and "
          "{0} of the output",
          r.word),
      {fmt::format("Parameters at their first values, encoders read from the first word to the last; mean over {} sentences of {} words. "
                   "All ways from h_j to the output word count: through the later states of the encoder, and through the attention.",
                   r.sentences, r.length)},
      {},
      {}};
  LabTable t{
      "Kept: mean norm at the tenth of the words that is farthest, over that of the nearest tenth. Factor per step: fitted over all "
      "distances; by theory that of the slowest direction at first values, 1 with attention, whose weights know no distance.",
      {"mechanism", "at the end", "half way", "at the beginning", "kept", "factor per step", "by theory"},
      {}};
  std::vector<Series> lines;
  for (const GradientRow& row : r.rows) {
    t.rows.push_back({row.name, fmt::format("{:.2e}", row.norms.front()), fmt::format("{:.2e}", row.norms[row.norms.size() / 2]),
                      fmt::format("{:.2e}", row.norms.back()), fmt::format("{:.1e}", row.kept), fmt::format("{:.3f}", row.decay),
                      fmt::format("{:.2f}", row.theory)});
    lines.push_back({row.name, {}, {}});
    for (size_t k = 0; k < row.norms.size(); ++k)
      lines.back().x.push_back(static_cast<double>(k) + r.word), lines.back().y.push_back(row.norms[k]);
  }
  s.tables.push_back(t);
  s.figures.push_back(
      {curves_svg(
           {.title = fmt::format("Gradient of output word {}", r.word), .x_label = "distance in words", .y_label = "norm", .log_y = true},
           lines),
       ""});
  report.sections.push_back(s);
  return report;
}

nlohmann::ordered_json to_json(const GradientResult& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const GradientRow& row : r.rows) {
    rows.push_back({{"mechanism", row.name},
                    {"preset", row.contender.preset},
                    {"settings", row.contender.settings},
                    {"norms", row.norms},
                    {"kept", row.kept},
                    {"factor_per_step", row.decay},
                    {"factor_by_theory", row.theory}});
  }
  return {{"experiment", "gradient"}, {"length", r.length}, {"sentences", r.sentences}, {"output_word", r.word}, {"rows", rows}};
}

}  // namespace jumok
