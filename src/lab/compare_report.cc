// The comparison of mechanisms as tables and pictures.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/compare.h"
#include "report/curves.h"
#include "report/heat_map.h"

namespace jumok {
namespace {

std::string settings_text(const Contender& c) {
  return c.settings.empty() ? c.preset : fmt::format("{}: {}", c.preset, fmt::join(c.settings, " "));
}

LabSection quality(const CompareResult& r) {
  LabSection s{"Quality on held-back lines", "", {}, {}, {}};
  LabTable t{
      "Loss: nats per target symbol. Exact: outputs that equal their reference. AER: alignment error rate of the attention (forced "
      "decoding), "
      "only where the true links are known; lower is better.",
      {"mechanism", "loss", "BLEU", "chrF", "exact", "AER"},
      {}};
  for (const CompareRow& row : r.rows) {
    const Quality& q = row.quality;
    t.rows.push_back({row.trained.contender.name, fmt::format("{:.3f}", q.loss), fmt::format("{:.1f}", q.bleu),
                      fmt::format("{:.1f}", q.chrf), fmt::format("{:.1f} %", 100 * q.exact),
                      std::isnan(q.aer) ? "–" : fmt::format("{:.3f}", q.aer)});
  }
  s.tables.push_back(t);
  return s;
}

LabSection cost(const CompareResult& r) {
  LabSection s{"Cost", "", {}, {}, {}};
  LabTable t{
      "Activations: memory of one update's sentences on one thread, forward and backward. Parameters in f32 are 4 bytes each; training "
      "keeps "
      "them, their gradients and two moments.",
      {"mechanism", "parameters", "target symbols/s", "updates", "seconds", "activations, MiB"},
      {}};
  for (const CompareRow& row : r.rows) {
    const Trained& m = row.trained;
    t.rows.push_back({m.contender.name, std::to_string(m.parameters), fmt::format("{:.0f}", m.tokens_per_second), std::to_string(m.updates),
                      fmt::format("{:.1f}", m.seconds), fmt::format("{:.1f}", static_cast<double>(m.activation_bytes) / (1 << 20))});
  }
  s.tables.push_back(t);
  return s;
}

LabSection curves(const CompareResult& r) {
  LabSection s{"Learning curves", "", {"Training loss, nats per symbol, with dropout."}, {}, {}};
  constexpr size_t kLines = 7;  // more than these cannot be told apart in one chart
  for (size_t begin = 0; begin < r.rows.size(); begin += kLines) {
    std::vector<Series> series;
    for (size_t i = begin; i < std::min(begin + kLines, r.rows.size()); ++i) {
      Series line{r.rows[i].trained.contender.name, {}, {}};
      for (const CurvePoint& p : r.rows[i].trained.curve) line.x.push_back(p.update), line.y.push_back(p.loss);
      series.push_back(line);
    }
    s.figures.push_back(
        {curves_svg({.title = "Loss over updates", .x_label = "updates", .y_label = "nats per symbol", .y_from_zero = true}, series), ""});
  }
  return s;
}

LabSection pictures(const CompareResult& r) {
  LabSection s{"The same sentence", "", {r.example_source + "  →  " + r.example_target}, {}, {}};
  for (const CompareRow& row : r.rows) {
    if (row.picture.source_words.empty()) continue;
    s.figures.push_back(
        {heat_map_svg({row.picture.target_words, row.picture.source_words, row.picture.weights, row.trained.contender.name}), "", true});
  }
  return s;
}

LabSection settings(const CompareResult& r) {
  LabSection s{"What was trained", "", {}, {}, {}};
  LabTable t{"As `jumok train --preset … --set …` has it.", {"mechanism", "preset and settings"}, {}};
  for (const CompareRow& row : r.rows) t.rows.push_back({row.trained.contender.name, settings_text(row.trained.contender)});
  s.tables.push_back(t);
  return s;
}

}  // namespace

LabReport report_of(const CompareResult& r) {
  return {
      "Every mechanism on the same text",
      fmt::format("{}: {} pairs to train, {} held back; {}, {} target symbols an update, one seed: small differences mean nothing.", r.text,
                  r.training_pairs, r.test_pairs, r.width > 0 ? fmt::format("width {}", r.width) : "the presets' widths", r.batch_tokens),
      {quality(r), cost(r), curves(r), pictures(r), settings(r)}};
}

nlohmann::ordered_json to_json(const CompareResult& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CompareRow& row : r.rows) {
    const Trained& m = row.trained;
    nlohmann::ordered_json curve = nlohmann::ordered_json::array();
    for (const CurvePoint& p : m.curve) curve.push_back({p.update, p.seconds, p.loss});
    rows.push_back({{"mechanism", m.contender.name},
                    {"preset", m.contender.preset},
                    {"settings", m.contender.settings},
                    {"parameters", m.parameters},
                    {"updates", m.updates},
                    {"seconds", m.seconds},
                    {"tokens_per_second", m.tokens_per_second},
                    {"activation_bytes", m.activation_bytes},
                    {"loss", row.quality.loss},
                    {"bleu", row.quality.bleu},
                    {"chrf", row.quality.chrf},
                    {"exact", row.quality.exact},
                    {"aer", std::isnan(row.quality.aer) ? nlohmann::ordered_json() : nlohmann::ordered_json(row.quality.aer)},
                    {"curve", curve}});
  }
  return {{"experiment", "compare"},
          {"text", r.text},
          {"training_pairs", r.training_pairs},
          {"test_pairs", r.test_pairs},
          {"width", r.width},
          {"batch_tokens", r.batch_tokens},
          {"example", {{"source", r.example_source}, {"target", r.example_target}}},
          {"mechanisms", rows}};
}

}  // namespace jumok
