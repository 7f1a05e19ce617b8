// jumok lab heads: 1, 2, 4, 8 heads at equal width D (Vaswani 2017 §3.2.2, table 3 rows A): d = D / H, so cost and parameters stay.
#pragma once

#include <string>
#include <vector>

#include "lab/head_shapes.h"
#include "lab/trained.h"

namespace jumok {

struct HeadsOptions : TrainingPlan {
  HeadsOptions() { updates = 300; }
  std::vector<int> heads = {1, 2, 4, 8};
};

struct HeadsRow {
  int heads = 0;
  Trained trained;
  Quality quality;
  HeadShapes shapes;
};
struct HeadsResult {
  std::string text;
  int width = 0;
  std::vector<HeadsRow> rows;
};
void check_options(const HeadsOptions& options);
HeadsResult run_heads(const HeadsOptions& options);

LabReport report_of(const HeadsResult& result);
nlohmann::ordered_json to_json(const HeadsResult& result);

}  // namespace jumok
