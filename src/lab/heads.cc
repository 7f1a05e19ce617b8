#include "lab/heads.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "lab/trained_report.h"
#include "models/model_files.h"

namespace jumok {
namespace {

Contender with_heads(int heads) {
  return {fmt::format("{} head{}", heads, heads == 1 ? "" : "s"), "transformer-tiny", {fmt::format("attention.heads={}", heads)}};
}

std::string entropy_cell(const HeadShape& s) { return fmt::format("{:.2f} of {:.2f}", s.entropy, s.possible); }

// One head has no other to differ from.
std::string divergence_cell(const HeadShape& s, int heads) { return heads > 1 ? fmt::format("{:.3f}", s.divergence) : "–"; }

}  // namespace

void check_options(const HeadsOptions& o) {
  check_files(o.files);
  check(!o.heads.empty(), "heads: expected a number of heads or more");
  o.refuse_setting("attention.heads", "the numbers of heads are an option of their own");
  std::vector<Contender> contenders;
  for (const int heads : o.heads) contenders.push_back(with_heads(heads));
  check_contenders(contenders, o.budget());
}

HeadsResult run_heads(const HeadsOptions& o) {
  check_options(o);
  const LabText text = o.text();
  const TrainingBudget budget = o.budget();
  const TrainingGround ground(text, budget, o.run);
  HeadsResult r{text.name, 0, {}};
  const double share = 1.0 / static_cast<double>(o.heads.size());
  for (const int heads : o.heads) {
    HeadsRow row;
    row.heads = heads;
    const double begin = share * static_cast<double>(r.rows.size());
    row.trained = ground.train(with_heads(heads), begin, begin + 0.95 * share);
    r.width = read_config(row.trained.model, nullptr).width;  // settings may have changed it
    row.quality = judge(row.trained.model, text, o.run.threads);
    row.shapes = head_shapes(row.trained.model, text, o.run);
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
  LabTable c{trained_caption(), {"heads", "width of a head"}, {}};
  const std::vector<std::string> header = trained_header();
  c.header.insert(c.header.end(), header.begin(), header.end());
  LabSection shape{"What the heads look at",
                   "entropy = −Σ_j α_j log2 α_j     divergence = H((α + β)/2) − (H(α) + H(β))/2   of two heads α, β",
                   {},
                   {},
                   {}};
  LabTable e{
      "Entropy in bits: of what uniform weights would have. Divergence (Jensen-Shannon) between the heads of a layer, in bits: 0 alike, "
      "1 nothing in common.",
      {"heads", "entropy: encoder", "decoder", "over the source", "divergence: encoder", "decoder", "over the source"},
      {}};
  std::vector<const Trained*> models;
  for (const HeadsRow& row : r.rows) {
    c.rows.push_back({std::to_string(row.heads), std::to_string(r.width / row.heads)});
    const std::vector<std::string> cells = trained_cells(row.trained, row.quality);
    c.rows.back().insert(c.rows.back().end(), cells.begin(), cells.end());
    e.rows.push_back({std::to_string(row.heads), entropy_cell(row.shapes.encoder), entropy_cell(row.shapes.decoder),
                      entropy_cell(row.shapes.source), divergence_cell(row.shapes.encoder, row.heads),
                      divergence_cell(row.shapes.decoder, row.heads), divergence_cell(row.shapes.source, row.heads)});
    models.push_back(&row.trained);
  }
  cost.tables.push_back(c);
  cost.figures.push_back(loss_figure(models));
  shape.tables.push_back(e);
  report.sections = {cost, shape};
  return report;
}

nlohmann::ordered_json to_json(const HeadsResult& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const HeadsRow& row : r.rows) {
    nlohmann::ordered_json json = {{"heads", row.heads}};
    json.update(trained_json(row.trained, row.quality));
    for (const auto& [name, shape] :
         {std::pair{"encoder", &row.shapes.encoder}, {"decoder", &row.shapes.decoder}, {"source", &row.shapes.source}}) {
      json[name] = to_json(*shape);
      if (row.heads < 2) json[name]["divergence_bits"] = nullptr;
    }
    rows.push_back(json);
  }
  return {{"experiment", "heads"}, {"text", r.text}, {"width", r.width}, {"rows", rows}};
}

}  // namespace jumok
