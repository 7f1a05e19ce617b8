// jumok lab compare: every mechanism trained by the same code on the same text for the same budget.
#pragma once

#include <string>
#include <vector>

#include "lab/trained.h"

namespace jumok {

struct CompareOptions : TrainingPlan {
  std::vector<std::string> only;  // names of mechanisms; empty: all
};

// Every mechanism of the project as (preset, settings), in the order of the literature. half_width: D of the local windows.
std::vector<Contender> all_mechanisms(int half_width);

struct CompareRow {
  Trained trained;
  Quality quality;
  AlignmentPicture picture;  // of the example; no words without attention
};
struct CompareResult {
  std::string text;
  int64_t training_pairs = 0, test_pairs = 0;
  int width = 0, batch_tokens = 0;
  std::string example_source, example_target;  // the test pair of the pictures
  std::vector<CompareRow> rows;
};
void check_options(const CompareOptions& options);
CompareResult run_compare(const CompareOptions& options);

LabReport report_of(const CompareResult& result);
nlohmann::ordered_json to_json(const CompareResult& result);

}  // namespace jumok
