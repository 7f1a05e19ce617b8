// The comparison of mechanisms as tables and pictures.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/compare.h"
#include "lab/trained_report.h"
#include "report/heat_map.h"

namespace jumok {
namespace {

std::string settings_text(const Trained& t) { return fmt::format("{}: {}", t.contender.preset, fmt::join(t.settings, " ")); }

LabSection results(const CompareResult& r) {
  LabSection s{"What each reaches and costs", "", {}, {}, {}};
  LabTable t{trained_caption(), trained_header(), {}};
  t.header.insert(t.header.begin(), "mechanism");
  for (const CompareRow& row : r.rows) {
    t.rows.push_back(trained_cells(row.trained, row.quality));
    t.rows.back().insert(t.rows.back().begin(), row.trained.contender.name);
  }
  s.tables.push_back(t);
  return s;
}

LabSection curves(const CompareResult& r) {
  LabSection s{"Learning curves", "", {"Training loss, nats per symbol, with dropout."}, {}, {}};
  constexpr size_t kLines = 7;  // more than these cannot be told apart in one chart
  for (size_t begin = 0; begin < r.rows.size(); begin += kLines) {
    std::vector<const Trained*> models;
    for (size_t i = begin; i < std::min(begin + kLines, r.rows.size()); ++i) models.push_back(&r.rows[i].trained);
    s.figures.push_back(loss_figure(models));
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
  for (const CompareRow& row : r.rows) t.rows.push_back({row.trained.contender.name, settings_text(row.trained)});
  s.tables.push_back(t);
  return s;
}

}  // namespace

LabReport report_of(const CompareResult& r) {
  return {
      "Every mechanism on the same text",
      fmt::format("{}: {} pairs to train, {} held back; {}, {} target symbols an update, one seed: small differences mean nothing.", r.text,
                  r.training_pairs, r.test_pairs, r.width > 0 ? fmt::format("width {}", r.width) : "the presets' widths", r.batch_tokens),
      {results(r), curves(r), pictures(r), settings(r)}};
}

nlohmann::ordered_json to_json(const CompareResult& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CompareRow& row : r.rows) {
    nlohmann::ordered_json json = {{"mechanism", row.trained.contender.name}};
    json.update(trained_json(row.trained, row.quality));
    const AlignmentPicture& p = row.picture;
    if (!p.source_words.empty()) {
      json["example"] = {{"source_words", p.source_words}, {"target_words", p.target_words}, {"weights", p.weights}};
    }
    rows.push_back(json);
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
