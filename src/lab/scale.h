// jumok lab scale: why scores are divided by √d_k (Vaswani 2017 §3.2.1, footnote 4).
// The dot product of two vectors of d_k independent standard normals has mean 0 and variance d_k; the softmax of such scores is nearly all
// on one key, where its gradient, p(1 - p), is nearly nothing.
#pragma once

#include <vector>

#include "lab/head_shapes.h"
#include "lab/trained.h"

namespace jumok {

// Two Transformers of one head are trained besides, with the division and without; updates 0: none.
struct ScaleOptions : TrainingPlan {
  ScaleOptions() { updates = 300; }
  std::vector<int> widths = {1, 4, 16, 64, 128, 256, 512, 1024};  // d_k
  int keys = 8;
  int draws = 4000;  // of a query and its keys, for each width

  void full_budget() { TrainingPlan::full_budget(), draws *= 50; }
};

// Means over the draws.
struct SoftmaxShape {
  double largest_weight = 0;
  double saturated = 0;  // share of draws with a weight over 0.99
  double gradient = 0;   // Σ_j p_j (1 - p_j), the trace of the softmax's Jacobian
  double entropy = 0;    // bits; log2(keys) at most
};
struct ScaleRow {
  int width = 0;
  double score_deviation = 0;  // of the plain scores; √d_k is expected
  SoftmaxShape plain, scaled;
};
// A model trained with the scale or without, and the weights of its attentions then.
struct ScaleTrained {
  Trained trained;
  Quality quality;
  HeadShapes shapes;
};
struct ScaleResult {
  int keys = 0;
  int64_t draws = 0;
  std::vector<ScaleRow> rows;
  std::string text;  // what the models were trained on
  int width = 0;     // of the models, and of their one head
  std::vector<ScaleTrained> trained;
};
void check_options(const ScaleOptions& options);
ScaleResult run_scale(const ScaleOptions& options);

LabReport report_of(const ScaleResult& result);
nlohmann::ordered_json to_json(const ScaleResult& result);

}  // namespace jumok
