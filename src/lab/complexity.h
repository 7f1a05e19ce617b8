// jumok lab complexity: what a layer costs (Vaswani 2017, table 1), measured.
//   layer            operations     sequential steps   longest path between two positions
//   self-attention   O(n² d)        1                  1
//   recurrent        O(n d²)        n                  n
//   convolution      O(k n d²)      1                  n/k contiguous, log_k n dilated
#pragma once

#include <string>
#include <vector>

#include "lab/experiment.h"

namespace jumok {

struct ComplexityOptions {
  std::vector<int> lengths = {64, 128, 256, 512, 1024, 2048};  // n, at width `width`
  std::vector<int> widths = {64, 128, 256, 512, 1024};         // d, at length `length`
  int width = 64, length = 64;
  int kernel = 3;         // k of the convolution
  double seconds = 0.03;  // of measuring each point
  LabRun run;

  void full_budget() { seconds *= 10; }
};

struct LayerCost {
  std::string layer;
  std::string operations;                                   // "n²·d"
  double expected_n = 0, expected_d = 0;                    // exponents
  std::vector<double> seconds_by_length, seconds_by_width;  // one forward pass of one sentence on one thread
  double fitted_n = 0, fitted_d = 0;                        // through the upper three points
  double steps = 0;                                         // sequential, at the greatest length
  double path = 0;                                          // longest, at the greatest length
  std::string steps_formula, path_formula;
};
struct ProductRate {
  int rows = 0;
  double flops = 0;  // FLOP/s of [rows, d] × [d, d]ᵀ
};
struct ComplexityResult {
  std::vector<int> lengths, widths;
  int width = 0, length = 0, kernel = 0, product_width = 0;
  std::vector<LayerCost> layers;
  std::vector<ProductRate> products;  // why a step of one row is slow: the weights are read for it alone
};
void check_options(const ComplexityOptions& options);
ComplexityResult run_complexity(const ComplexityOptions& options);

LabReport report_of(const ComplexityResult& result);
nlohmann::ordered_json to_json(const ComplexityResult& result);

}  // namespace jumok
