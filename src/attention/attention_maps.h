// What a pass tells of its attentions when asked: the weights, and the numbers they came from.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "attention/mechanism.h"
#include "tensor/tensor.h"

namespace jumok {

// A matrix of its own memory, rows without gaps.
struct NumberTable {
  int64_t rows = 0, columns = 0;
  std::vector<float> numbers;  // [rows, columns]

  NumberTable() = default;
  NumberTable(int64_t r, int64_t c) : rows(r), columns(c), numbers(static_cast<size_t>(r * c)) {}
  float* row(int64_t r) { return numbers.data() + r * columns; }
  const float* row(int64_t r) const { return numbers.data() + r * columns; }
  // Copies rows [begin, begin + count) of x to the rows from `at` on.
  void put(int64_t at, const Tensor& x, int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; ++i) std::copy_n(x.row(begin + i), columns, row(at + i));
  }
};

// One sentence's attention, step by step: e = score(q, k), α = softmax(e) over what is allowed, mixed = α v; heads side by side in the
// columns.
struct AttentionParts {
  Score score = Score::kScaledDot;  // with kLocation the queries are the scores themselves
  float scale = 1;
  bool causal = false;
  NumberTable query, key, value, mixed;  // [T, H·d], [S, H·d], [S, H·d_v], [T, H·d_v]; a query or mix of each target position
  NumberTable output;                    // [T, D] after W_O; no rows where there is none
  std::vector<float> vector;             // v_a of the additive scores, [H·d]
  std::vector<int32_t> first, last;      // [T] keys [first, last) that a window allows; empty without one
  std::vector<float> centre;             // [T] p_t of local-p, otherwise empty
  float sigma = 0;                       // of its Gaussian
};

// The scores of one head, [T, S] row-major, from the query and key again in float64; blocked pairs are -inf.
std::vector<double> scores_of(const AttentionParts& parts, int heads, int head);

// Asks for the weights of the attentions a pass goes through; every attention appends to `maps`.
struct AttentionMaps {
  struct Map {
    std::string name;  // "encoder.layers.0.self_attention", …
    int heads = 0;
    std::vector<std::vector<float>> weights;  // [sentence · H + head]: T × S row-major, before dropout
    std::vector<AttentionParts> parts;        // [sentence], when wanted
  };
  std::string only;    // the one attention wanted, by name; empty: all
  bool parts = false;  // also what the weights came from
  std::vector<Map> maps;

  bool wants(const std::string& name) const { return only.empty() || only == name; }
};

}  // namespace jumok
