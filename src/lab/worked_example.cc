#include "lab/worked_example.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "gemm/gemm.h"
#include "jumok/attention.h"

namespace jumok {
namespace {

// f32, as the kernels want it, without gaps.
struct Matrix {
  std::vector<float> data;
  int64_t rows = 0, columns = 0;
  Matrix(int64_t r, int64_t c) : data(static_cast<size_t>(r * c)), rows(r), columns(c) {}
  explicit Matrix(const Vectors& v) : Matrix(static_cast<int64_t>(v.size()), static_cast<int64_t>(v.front().size())) {
    for (size_t r = 0; r < v.size(); ++r)
      std::transform(v[r].begin(), v[r].end(), data.begin() + static_cast<int64_t>(r) * columns, to_float);
  }
  static float to_float(double x) { return static_cast<float>(x); }
  kernels::Rows view() { return {data.data(), rows, columns, columns}; }
  Vectors vectors() const {
    Vectors v(static_cast<size_t>(rows));
    for (size_t r = 0; r < v.size(); ++r)
      v[r].assign(data.begin() + static_cast<int64_t>(r) * columns, data.begin() + static_cast<int64_t>(r + 1) * columns);
    return v;
  }
};

// y = W x for every word: rows of x Wᵀ.
Vectors project(const Vectors& x, const Vectors& w) {
  Matrix in(x), weight(w), out(in.rows, weight.rows);
  gemm::multiply_nt(in.view(), weight.view(), out.view());
  return out.vectors();
}

Vectors chosen(const Vectors& words, const std::vector<int>& numbers) {
  Vectors rows;
  for (const int n : numbers) rows.push_back(words[static_cast<size_t>(n)]);
  return rows;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : std::numeric_limits<double>::quiet_NaN();  // no direction
}

Vectors cosines(const Vectors& a, const Vectors& b) {
  Vectors all;
  for (const auto& x : a) {
    all.emplace_back();
    for (const auto& y : b) all.back().push_back(cosine(x, y));
  }
  return all;
}

// One head over q [Q, d], k [K, d], v [K, d_v], asked for its parts.
class Head {
 public:
  Head(const Vectors& q, const Vectors& k, const Vectors& v, const std::vector<std::vector<bool>>& allowed) : q_(q), k_(k), v_(v) {
    for (const auto& row : allowed) {
      for (const bool may : row) mask_.push_back(may);
    }
  }
  Vectors scores(std::optional<double> scale) { return pairs(scale, attention::scores); }
  Vectors weights(std::optional<double> scale) { return pairs(scale, attention::weights); }
  Vectors context(std::optional<double> scale) {
    Matrix out(q_.rows, v_.columns);
    attention::forward(problem(scale), {.out = attention::dense(out.data.data(), 1, 1, out.rows, out.columns)});
    return out.vectors();
  }

 private:
  attention::Problem problem(std::optional<double> scale) const {
    attention::Problem p;
    p.q = attention::dense(q_.data.data(), 1, 1, q_.rows, q_.columns);
    p.k = attention::dense(k_.data.data(), 1, 1, k_.rows, k_.columns);
    p.v = attention::dense(v_.data.data(), 1, 1, v_.rows, v_.columns);
    if (scale) p.scale = static_cast<float>(*scale);
    if (!mask_.empty()) p.rules.mask = {mask_.data(), 0, 0, k_.rows, 1};
    return p;
  }
  template <typename Function>
  Vectors pairs(std::optional<double> scale, Function function) {
    Matrix out(q_.rows, k_.rows);
    function(problem(scale), attention::dense(out.data.data(), 1, 1, out.rows, out.columns), {});
    return out.vectors();
  }
  Matrix q_, k_, v_;
  std::vector<uint8_t> mask_;
};

}  // namespace

WorkedExample default_worked_example() {
  WorkedExample e;
  e.words = {"it", "cat", "car"};
  e.embeddings = {{0.60, 0.60}, {0.80, 0.40}, {0.20, 0.95}};
  e.queries = {0};
  e.keys = {1, 2};
  e.query_matrix = {{2, 0}, {0, -2}};
  e.key_matrix = {{2, 0.3}, {0, 1}};
  e.value_matrix = {{1, 0}, {0, 1}};
  return e;
}

WorkedExampleResult run_worked_example(const WorkedExample& e) {
  WorkedExampleResult r;
  r.input = e;
  const Vectors all_q = project(e.embeddings, e.query_matrix), all_k = project(e.embeddings, e.key_matrix);
  const Vectors key_words = chosen(e.embeddings, e.keys);
  r.q = chosen(all_q, e.queries);
  r.k = chosen(all_k, e.keys);
  r.v = project(key_words, e.value_matrix);
  Head head(r.q, r.k, r.v, e.allowed);
  r.scores = head.scores(1);
  r.scaled_scores = head.scores(e.scale);
  r.weights = head.weights(e.scale);
  r.unscaled_weights = head.weights(1);
  r.context = head.context(e.scale);
  r.embedding_cosines = cosines(chosen(e.embeddings, e.queries), key_words);
  if (e.value_matrix.size() == e.embeddings.front().size()) r.context_cosines = cosines(r.context, key_words);
  r.pair_scores = Head(all_q, all_k, e.embeddings, {}).scores(1);
  return r;
}

nlohmann::ordered_json to_json(const WorkedExampleResult& r) {
  const auto finite = [](const Vectors& v) {  // JSON has no -inf (a pair that is not allowed) and no NaN (a cosine with no vector)
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& row : v) {
      rows.push_back(nlohmann::ordered_json::array());
      for (const double x : row) rows.back().push_back(std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json());
    }
    return rows;
  };
  const auto names = [&](const std::vector<int>& numbers) {
    std::vector<std::string> words;
    for (const int n : numbers) words.push_back(r.input.words[static_cast<size_t>(n)]);
    return words;
  };
  return {{"experiment", "worked-example"},
          {"words", r.input.words},
          {"queries", names(r.input.queries)},
          {"keys", names(r.input.keys)},
          {"embeddings", r.input.embeddings},
          {"w_q", r.input.query_matrix},
          {"w_k", r.input.key_matrix},
          {"w_v", r.input.value_matrix},
          {"scale", r.input.scale.value_or(1 / std::sqrt(static_cast<double>(r.q.front().size())))},
          {"allowed", r.input.allowed.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(r.input.allowed)},  // null: all
          {"q", r.q},
          {"k", r.k},
          {"v", r.v},
          {"scores", finite(r.scores)},
          {"scaled_scores", finite(r.scaled_scores)},
          {"weights", r.weights},
          {"unscaled_weights", r.unscaled_weights},
          {"context", r.context},
          {"embedding_cosines", finite(r.embedding_cosines)},
          {"context_cosines", finite(r.context_cosines)},
          {"pair_scores", r.pair_scores}};
}

}  // namespace jumok
