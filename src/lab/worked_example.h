// jumok lab worked-example: one attention by hand, every number on the way.
//   q = W_Q x    k = W_K x    v = W_V x        e_ij = scale · q_i·k_j    α_ij = softmax_j(e_ij)    c_i = Σ_j α_ij v_j
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/experiment.h"

namespace jumok {

using Vectors = std::vector<std::vector<double>>;  // rows of equal length

struct WorkedExample {
  std::vector<std::string> words;          // W of them
  Vectors embeddings;                      // [W, D]
  std::vector<int> queries, keys;          // numbers of words: Q that ask, K that answer
  Vectors query_matrix, key_matrix;        // W_Q, W_K [d, D], acting on column vectors
  Vectors value_matrix;                    // W_V [d_v, D]
  std::optional<double> scale;             // unset: 1/√d
  std::vector<std::vector<bool>> allowed;  // [Q, K]; empty: all
};

// The example of the documentation: "it" asks whether it is the cat or the car.
WorkedExample default_worked_example();

// From JSON: {"embeddings": {"it": [0.6, 0.6], …}, "queries": ["it"], "keys": ["cat", "car"], "w_q": [[2, 0], [0, -2]], "w_k": …, "w_v": …,
// "scale": 0.5, "mask": [[true, false]]}. Left out: queries and keys (all words), matrices (identity), scale (1/√d), mask (all allowed).
// Throws Error that names `where` and the field.
WorkedExample parse_worked_example(const std::string& json, const std::string& where);

struct WorkedExampleResult {
  WorkedExample input;
  Vectors q, k, v;                    // [Q, d], [K, d], [K, d_v]
  Vectors scores;                     // q·k [Q, K], unscaled; -inf where not allowed
  Vectors scaled_scores;              // [Q, K]
  Vectors weights, unscaled_weights;  // [Q, K]: softmax of the scaled, of the plain scores
  Vectors context;                    // [Q, d_v]
  Vectors embedding_cosines;          // [Q, K] of the words' embeddings; NaN where one is all zeros
  Vectors context_cosines;            // [Q, K] of the context with the keys' embeddings; empty where the widths differ
  Vectors pair_scores;                // [W, W] q(word i)·k(word j): what row i asks of column j
};
WorkedExampleResult run_worked_example(const WorkedExample& input);

LabReport report_of(const WorkedExampleResult& result);
nlohmann::ordered_json to_json(const WorkedExampleResult& result);

}  // namespace jumok
