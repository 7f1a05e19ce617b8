// Trained models in tables, curves and JSON, the same in every experiment that trains.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/trained.h"

namespace jumok {

// Header and cells of a table with a row for each model: what it reaches on the test lines, and what it costs.
std::vector<std::string> trained_header();
std::vector<std::string> trained_cells(const Trained& model, const Quality& quality);
// What these columns mean.
std::string trained_caption();

// Training loss over updates, a line for each model.
LabFigure loss_figure(const std::vector<const Trained*>& models);

// The numbers of the table and the curve, under stable names.
nlohmann::ordered_json trained_json(const Trained& model, const Quality& quality);

}  // namespace jumok
