// The page of a training run: loss, quality and speed as they went.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace jumok {

struct TrainingPoint {
  double update = 0, seconds = 0;  // since the start
  double loss = 0;                 // nats per target token
  double tokens_per_second = 0, learning_rate = 0;
};

struct ValidationPoint {
  double update = 0, seconds = 0;
  double loss = 0, bleu = 0, chrf = 0;  // NaN where it was not measured; BLEU and chrF from 0 to 100
};

struct TrainingCurves {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // shown as a table: model, parameters, data, …
  std::vector<TrainingPoint> training;
  std::vector<ValidationPoint> validation;
};

// Loss, quality and speed over updates and over time, and a table of the validations.
std::string training_page(const TrainingCurves& curves);

}  // namespace jumok
