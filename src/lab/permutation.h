// jumok lab permutation: what a model knows of the order of words.
// Without positions self-attention is permutation-equivariant: for a permutation P of the rows, encoder(P x) = P encoder(x)
// (Vaswani 2017 §3.5). With positions, in a recurrent encoder or under a causal mask it is not.
#pragma once

#include <string>
#include <vector>

#include "lab/experiment.h"

namespace jumok {

struct PermutationOptions {
  std::string preset = "transformer-tiny";
  int length = 24;        // symbols of the random sentences, one of them twice
  int permutations = 10;  // tried on each
  LabRun run;             // seed: of parameters, sentences, permutations
};

struct PermutationRow {
  std::string model;      // "encoder, no positions"
  double difference = 0;  // greatest of |f(P x) - P f(x)| over all permutations, rows and columns
  double size = 0;        // greatest of |f(x)|
  double twins = 0;       // greatest difference between the rows of the symbol that stands twice in x
  bool equivariant() const { return difference < 1e-4 * size; }
};
// Self-attention of the first layer, mean of the heads, on one sentence in two orders.
struct OrderMap {
  std::string model;
  std::vector<std::string> words;
  std::vector<float> weights;  // [words, words]
};
struct PermutationResult {
  int length = 0, permutations = 0;
  std::vector<PermutationRow> rows;
  std::vector<OrderMap> maps;  // "the dog bites the man" and "the man bites the dog", without and with positions
};
void check_options(const PermutationOptions& options);
PermutationResult run_permutation(const PermutationOptions& options);

LabReport report_of(const PermutationResult& result);
nlohmann::ordered_json to_json(const PermutationResult& result);

}  // namespace jumok
