#include "attention/attention_maps.h"

#include <cmath>
#include <limits>

namespace jumok {
namespace {

constexpr double kBlocked = -std::numeric_limits<double>::infinity();

double score(const AttentionParts& p, const float* q, const float* k, int64_t first, int64_t width) {
  double e = 0;
  if (p.score == Score::kAdditive || p.score == Score::kConcat) {
    for (int64_t c = first; c < first + width; ++c) e += p.vector[static_cast<size_t>(c)] * std::tanh(static_cast<double>(q[c]) + k[c]);
    return e;
  }
  for (int64_t c = first; c < first + width; ++c) e += static_cast<double>(q[c]) * k[c];
  return p.scale * e;
}

bool in_window(const AttentionParts& p, int64_t query, int64_t key) {
  if (p.first.empty()) return true;
  return key >= p.first[static_cast<size_t>(query)] && key < p.last[static_cast<size_t>(query)];
}

}  // namespace

std::vector<double> scores_of(const AttentionParts& p, int heads, int head) {
  const int64_t rows = p.query.rows, columns = p.value.rows, width = p.query.columns / heads;
  std::vector<double> scores(static_cast<size_t>(rows * columns), kBlocked);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (p.causal && j > columns - rows + i) continue;
      if (!in_window(p, i, j)) continue;
      double& e = scores[static_cast<size_t>(i * columns + j)];
      if (p.score == Score::kLocation) {
        if (j < p.query.columns) e = p.query.row(i)[j];
      } else {
        e = score(p, p.query.row(i), p.key.row(j), head * width, width);
      }
    }
  }
  return scores;
}

}  // namespace jumok
