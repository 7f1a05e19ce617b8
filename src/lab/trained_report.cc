#include "lab/trained_report.h"

#include <fmt/format.h>

#include <cmath>

#include "report/curves.h"

namespace jumok {

std::vector<std::string> trained_header() {
  return {"loss", "BLEU", "chrF", "exact", "AER", "its attention", "symbols/s", "parameters", "activations, MiB", "updates", "seconds"};
}

std::vector<std::string> trained_cells(const Trained& m, const Quality& q) {
  return {fmt::format("{:.3f}", q.loss),
          fmt::format("{:.1f}", q.bleu),
          fmt::format("{:.1f}", q.chrf),
          fmt::format("{:.1f} %", 100 * q.exact),
          std::isnan(q.aer) ? "–" : fmt::format("{:.3f}", q.aer),
          q.attention_name.empty() ? "–" : q.attention_name,
          fmt::format("{:.0f}", m.tokens_per_second),
          std::to_string(m.parameters),
          fmt::format("{:.1f}", static_cast<double>(m.activation_bytes) / (1 << 20)),
          std::to_string(m.updates),
          fmt::format("{:.1f}", m.seconds)};
}

std::string trained_caption() {
  return "Loss: nats per target symbol. Exact: outputs that equal their reference. AER: alignment error rate of the attention (forced "
         "decoding), only where the true links are known; lower is better. Its attention: the layer, head and step that were judged; where "
         "other pairs with links are at hand, those that align best there. Symbols/s: target symbols in training. Activations: peak memory "
         "of one update's sentences on one thread, forward and backward; parameters, their gradients and two moments take 16 bytes a "
         "parameter beside them.";
}

LabFigure loss_figure(const std::vector<const Trained*>& models) {
  std::vector<Series> lines;
  for (const Trained* m : models) {
    lines.push_back({m->contender.name, {}, {}});
    for (const CurvePoint& p : m->curve) lines.back().x.push_back(p.update), lines.back().y.push_back(p.loss);
  }
  return {curves_svg({.title = "Loss over updates", .x_label = "updates", .y_label = "nats per symbol", .y_from_zero = true}, lines), ""};
}

nlohmann::ordered_json trained_json(const Trained& m, const Quality& q) {
  nlohmann::ordered_json curve = nlohmann::ordered_json::array();
  for (const CurvePoint& p : m.curve) curve.push_back({p.update, p.seconds, p.loss});
  return {{"preset", m.contender.preset},
          {"settings", m.settings},
          {"parameters", m.parameters},
          {"updates", m.updates},
          {"seconds", m.seconds},
          {"tokens_per_second", m.tokens_per_second},
          {"activation_bytes", m.activation_bytes},
          {"loss", q.loss},
          {"bleu", q.bleu},
          {"chrf", q.chrf},
          {"exact", q.exact},
          {"aer", std::isnan(q.aer) ? nlohmann::ordered_json() : nlohmann::ordered_json(q.aer)},
          {"attention", q.attention_name},
          {"curve", curve}};
}

}  // namespace jumok
