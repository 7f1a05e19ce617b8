// jumok lab gradient: what arrives at the encoder's state of a source word from the loss of an output word, against the way between them
// (Bengio 1994; Bahdanau 2015 §1): without attention it goes back through every step of the encoder, with attention it goes there at once.
#pragma once

#include <string>
#include <vector>

#include "lab/trained.h"

namespace jumok {

struct GradientOptions {
  int length = 80;    // source words
  int sentences = 8;  // each with parameters of its own; norms are averaged
  int width = 64;
  int word = 1;  // the output word, from 1
  LabRun run;

  void full_budget() { length = 200, sentences = 32; }
};

// Norm of ∂loss/∂h_j for the loss of one output word; h_j is the encoder's output for source word j (LSTM: h alone, not c).
struct GradientRow {
  std::string name;
  Contender contender;
  std::vector<double>
      norms;          // [length], by distance: norms[k] is that of the word k words before the end of the source, mean over sentences
  double kept = 0;    // norms at the greatest distance, a tenth of the words, over those at the least
  double decay = 0;   // factor for each step of distance, fitted through all of them
  double theory = 0;  // the factor that the linearised cell has at first values
};
struct GradientResult {
  int length = 0, sentences = 0, word = 1;
  std::vector<GradientRow> rows;
};
void check_options(const GradientOptions& options);
GradientResult run_gradient(const GradientOptions& options);

LabReport report_of(const GradientResult& result);
nlohmann::ordered_json to_json(const GradientResult& result);

}  // namespace jumok
