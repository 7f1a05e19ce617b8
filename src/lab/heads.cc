#include "lab/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "gemm/worker_threads.h"
#include "models/model_files.h"
#include "report/curves.h"
#include "translate/forced.h"

namespace jumok {
namespace {

constexpr size_t kSentences = 100;  // whose weights are looked at

double entropy(const float* p, int64_t n) {
  double h = 0;
  for (int64_t j = 0; j < n; ++j) h -= p[j] > 0 ? p[j] * std::log2(p[j]) : 0;
  return h;
}

// H((p + q) / 2) - (H(p) + H(q)) / 2, bits.
double jensen_shannon(const float* p, const float* q, int64_t n) {
  std::vector<float> middle(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j) middle[static_cast<size_t>(j)] = (p[j] + q[j]) / 2;
  return std::max(0.0, entropy(middle.data(), n) - (entropy(p, n) + entropy(q, n)) / 2);
}

std::vector<SymbolPair> symbol_pairs(const LoadedModel& m, const LabText& text) {
  std::vector<SymbolPair> pairs;
  const size_t longest = static_cast<size_t>(m.config.max_positions) - 1;
  for (size_t i = 0; i < text.test_source.size() && pairs.size() < kSentences; ++i) {
    SymbolPair p{m.subwords.source->encode(text.test_source[i]).ids, m.subwords.target->encode(text.test_target[i]).ids};
    if (p.source.size() <= longest && p.target.size() <= longest) pairs.push_back(std::move(p));
  }
  return pairs;
}

void look_at_weights(HeadsRow& row, const LabText& text, const LabRun& run) {
  const LoadedModel m = load_model(row.trained.model);
  Workers workers(threads_or_cores(run.threads), prepare_model_thread);
  const std::vector<SymbolPair> pairs = symbol_pairs(m, text);
  ForcedOptions options;
  options.maps = true;
  const std::vector<Forced> forced = force(*m.model, m.parameters->data(), pairs, options, workers);
  HeadSums encoder, decoder, source;
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (const AttentionMaps::Map& map : forced[i].maps) {
      const bool over_source = map.name.find("cross_attention") != std::string::npos;
      const bool of_target = !over_source && map.name.starts_with("decoder");
      const size_t keys = of_target ? pairs[i].target.size() + 1 : pairs[i].source.size() + 1;
      (over_source ? source : of_target ? decoder : encoder).add(map.weights, static_cast<int64_t>(keys));
    }
  }
  row.encoder = encoder.mean();
  row.decoder = decoder.mean();
  row.source = source.mean();
}

std::string entropy_cell(const HeadShape& s) { return fmt::format("{:.2f} of {:.2f}", s.entropy, s.possible); }

nlohmann::ordered_json json_of(const HeadShape& s) {
  return {{"entropy_bits", s.entropy}, {"possible_bits", s.possible}, {"divergence_bits", s.divergence}};
}

}  // namespace

void HeadSums::add(const std::vector<std::vector<float>>& heads, int64_t keys) {
  const int64_t queries = static_cast<int64_t>(heads.front().size()) / keys;
  for (int64_t t = 0; t < queries; ++t) {
    for (size_t h = 0; h < heads.size(); ++h) {
      const float* p = heads[h].data() + t * keys;
      entropy += jumok::entropy(p, keys);
      possible += std::log2(std::max<double>(1, static_cast<double>(std::count_if(p, p + keys, [](float w) { return w > 0; }))));
      ++rows;
      for (size_t g = 0; g < h; ++g, ++pair_rows) divergence += jensen_shannon(p, heads[g].data() + t * keys, keys);
    }
  }
}

HeadShape HeadSums::mean() const {
  const auto n = static_cast<double>(std::max<int64_t>(1, rows)), pairs = static_cast<double>(std::max<int64_t>(1, pair_rows));
  return {entropy / n, possible / n, divergence / pairs};
}

HeadsResult run_heads(const HeadsOptions& o) {
  check(!o.heads.empty(), "heads: expected a number of heads or more");
  const LabText text =
      o.files.given() ? file_text(o.files, o.test_pairs) : task_text({o.task, 3, 12, o.run.seed, false}, o.training_pairs, o.test_pairs);
  TrainingBudget budget;
  budget.updates = o.updates * (o.run.full ? 10 : 1);
  budget.width = o.run.full && o.width == 64 ? 256 : o.width;
  budget.batch_tokens = o.batch_tokens;
  if (o.files.given()) budget.subwords = "unigram";
  budget.settings = o.settings;
  const TrainingGround ground(text, budget, o.run);
  HeadsResult r{text.name, budget.width, {}};
  const double share = 1.0 / static_cast<double>(o.heads.size());
  for (const int heads : o.heads) {
    HeadsRow row;
    row.heads = heads;
    const double begin = share * static_cast<double>(r.rows.size());
    row.trained = ground.train(
        {fmt::format("{} head{}", heads, heads == 1 ? "" : "s"), "transformer-tiny", {fmt::format("attention.heads={}", heads)}}, begin,
        begin + 0.95 * share);
    row.quality = judge(row.trained.model, text, o.run.threads);
    look_at_weights(row, text, o.run);
    r.rows.push_back(std::move(row));
  }
  return r;
}

LabReport report_of(const HeadsResult& r) {
  LabReport report{
      "How many heads?",
      fmt::format("The same Transformer of width {} on {} with its attention cut into more and more heads of D/H columns: what does it "
                  "cost, what does it bring, and do the heads look at different things?",
                  r.width, r.text),
      {}};
  LabSection cost{
      "Cost and quality", "", {"Parameters and operations are the same for every number of heads: H heads of D/H columns."}, {}, {}};
  LabTable c{"", {"heads", "width of a head", "parameters", "target symbols/s", "loss", "BLEU", "chrF", "exact", "AER"}, {}};
  LabSection shape{"What the heads look at",
                   "entropy = −Σ_j α_j log2 α_j     divergence = H((α + β)/2) − (H(α) + H(β))/2   of two heads α, β",
                   {},
                   {},
                   {}};
  LabTable e{
      "Entropy in bits: of what uniform weights would have. Divergence (Jensen-Shannon) between the heads of a layer, in bits: 0 alike, 1 "
      "nothing in "
      "common.",
      {"heads", "entropy: encoder", "decoder", "over the source", "divergence: encoder", "decoder", "over the source"},
      {}};
  std::vector<Series> curves;
  for (const HeadsRow& row : r.rows) {
    const Quality& q = row.quality;
    c.rows.push_back({std::to_string(row.heads), std::to_string(r.width > 0 ? r.width / row.heads : 0),
                      std::to_string(row.trained.parameters), fmt::format("{:.0f}", row.trained.tokens_per_second),
                      fmt::format("{:.3f}", q.loss), fmt::format("{:.1f}", q.bleu), fmt::format("{:.1f}", q.chrf),
                      fmt::format("{:.1f} %", 100 * q.exact), std::isnan(q.aer) ? "–" : fmt::format("{:.3f}", q.aer)});
    e.rows.push_back({std::to_string(row.heads), entropy_cell(row.encoder), entropy_cell(row.decoder), entropy_cell(row.source),
                      fmt::format("{:.3f}", row.encoder.divergence), fmt::format("{:.3f}", row.decoder.divergence),
                      fmt::format("{:.3f}", row.source.divergence)});
    curves.push_back({row.trained.contender.name, {}, {}});
    for (const CurvePoint& p : row.trained.curve) curves.back().x.push_back(p.update), curves.back().y.push_back(p.loss);
  }
  cost.tables.push_back(c);
  cost.figures.push_back(
      {curves_svg({.title = "Loss over updates", .x_label = "updates", .y_label = "nats per symbol", .y_from_zero = true}, curves), ""});
  shape.tables.push_back(e);
  report.sections = {cost, shape};
  return report;
}

nlohmann::ordered_json to_json(const HeadsResult& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const HeadsRow& row : r.rows) {
    rows.push_back({{"heads", row.heads},
                    {"parameters", row.trained.parameters},
                    {"tokens_per_second", row.trained.tokens_per_second},
                    {"loss", row.quality.loss},
                    {"bleu", row.quality.bleu},
                    {"chrf", row.quality.chrf},
                    {"exact", row.quality.exact},
                    {"encoder", json_of(row.encoder)},
                    {"decoder", json_of(row.decoder)},
                    {"source", json_of(row.source)}});
  }
  return {{"experiment", "heads"}, {"text", r.text}, {"width", r.width}, {"rows", rows}};
}

}  // namespace jumok
