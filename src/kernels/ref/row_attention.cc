#include "kernels/ref/row_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace jumok::kernels::ref {
namespace {

bool allowed(const RowProblem& in, int64_t i, int64_t j) {
  if (in.first && (j < in.first[i] || j >= in.last[i])) return false;
  if (in.mask && in.mask[i * in.keys + j] == 0) return false;
  if (in.bias && in.bias[i * in.keys + j] == -std::numeric_limits<double>::infinity()) return false;
  return in.score != RowScore::kGiven || j < in.key_width;
}

double score(const RowProblem& in, int64_t i, int64_t j) {
  const double* q = in.q + i * in.key_width;
  double sum = in.bias ? in.bias[i * in.keys + j] : 0.0;
  if (in.score == RowScore::kGiven) return sum + q[j];
  const double* k = in.k + j * in.key_width;
  for (int64_t c = 0; c < in.key_width; ++c) {
    sum += in.score == RowScore::kAdditive ? in.u[c] * std::tanh(q[c] + k[c]) : in.scale * q[c] * k[c];
  }
  return sum;
}

double gaussian(const RowProblem& in, int64_t i, int64_t j) {
  if (!in.centre) return 1;
  const double distance = static_cast<double>(j) - in.centre[i];
  return std::exp(-distance * distance / (2 * in.sigma * in.sigma));
}

// α of query i, blocked keys 0, also beside an allowed NaN; returns log-sum-exp.
double softmax(const RowProblem& in, int64_t i, double* alpha) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t j = 0; j < in.keys; ++j) {
    if (allowed(in, i, j)) largest = std::max(largest, score(in, i, j));
  }
  for (int64_t j = 0; j < in.keys; ++j) sum += alpha[j] = allowed(in, i, j) ? std::exp(score(in, i, j) - largest) : 0.0;
  for (int64_t j = 0; j < in.keys; ++j) alpha[j] = allowed(in, i, j) && sum != 0 ? alpha[j] / sum : 0.0;
  return sum != 0 ? largest + std::log(sum) : -std::numeric_limits<double>::infinity();
}

double kept(const RowProblem& in, int64_t i, int64_t j) { return in.kept ? in.kept[i * in.keys + j] : 1.0; }

// From the gradient `de` of e_ij to what the score is made of.
void score_backward(const RowProblem& in, int64_t i, int64_t j, double de, const RowDerivative& g) {
  double* dq = g.dq + i * in.key_width;
  if (g.dbias) g.dbias[i * in.keys + j] += de;
  if (in.score == RowScore::kGiven) {
    dq[j] += de;
    return;
  }
  const double *q = in.q + i * in.key_width, *k = in.k + j * in.key_width;
  for (int64_t c = 0; c < in.key_width; ++c) {
    if (in.score == RowScore::kDot) {
      dq[c] += de * in.scale * k[c];
      g.dk[j * in.key_width + c] += de * in.scale * q[c];
      continue;
    }
    const double t = std::tanh(q[c] + k[c]), slope = in.u[c] * (1 - t * t);
    g.du[c] += de * t;
    dq[c] += de * slope;
    g.dk[j * in.key_width + c] += de * slope;
  }
}

// One head of one sentence, copied out of the f32 matrices.
struct Copy {
  std::vector<double> q, k, v, u, bias, centre, kept, weights, out, lse;
  std::vector<uint8_t> mask;
  std::vector<int64_t> first, last;
  RowProblem problem;
  RowResult result;
};

std::vector<double> copy(ConstRows m, int64_t begin, int64_t rows, int64_t column, int64_t width) {
  std::vector<double> values(static_cast<size_t>(rows * width));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) values[static_cast<size_t>(r * width + c)] = m.row(begin + r)[column + c];
  }
  return values;
}

std::vector<double> kept_weights(const RowAttention& in, int64_t query_begin, int64_t queries, int64_t keys, int head) {
  std::vector<double> kept(static_cast<size_t>(queries * keys));
  for (int64_t i = 0; i < queries; ++i) {
    const uint32_t seed = dropout_row_seed(in.dropout.row_keys[query_begin + i], in.dropout.site);
    for (int64_t j = 0; j < keys; ++j) {
      const bool keep = dropout_bits(seed, in.first_column + static_cast<uint32_t>(head * 65536 + j)) >= keep_threshold(in.dropout.rate);
      kept[static_cast<size_t>(i * keys + j)] = keep ? 1.0 / (1.0 - static_cast<double>(in.dropout.rate)) : 0.0;
    }
  }
  return kept;
}

// [T, S]
template <typename To, typename From>
std::vector<To> copy_pairs(const RowPairs<From>& pairs, int64_t queries, int64_t keys) {
  std::vector<To> values;
  for (int64_t n = 0; pairs && n < queries * keys; ++n) values.push_back(*pairs.at(n / keys, n % keys));
  return values;
}

Copy copy_head(const RowAttention& in, int sentence, int head) {
  const AttentionBatch& b = in.batch;
  const int64_t query = b.query_begin[sentence], queries = b.query_length[sentence], keys = b.key_length[sentence];
  Copy h;
  h.q = copy(in.q, query, queries, int64_t{head} * in.key_width, in.key_width);
  if (in.score != RowScore::kGiven) h.k = copy(in.k, b.key_begin[sentence], keys, int64_t{head} * in.key_width, in.key_width);
  h.v = copy(in.v, b.key_begin[sentence], keys, int64_t{head} * in.value_width, in.value_width);
  if (in.score == RowScore::kAdditive) h.u.assign(in.u + head * in.key_width, in.u + (head + 1) * in.key_width);
  if (in.first) h.first.assign(in.first + query, in.first + query + queries);
  if (in.first) h.last.assign(in.last + query, in.last + query + queries);
  h.mask = copy_pairs<uint8_t>(in.mask.from(query, head), queries, keys);
  h.bias = copy_pairs<double>(in.bias.from(query, head), queries, keys);
  if (in.centre) h.centre.assign(in.centre + query, in.centre + query + queries);
  if (in.dropout.active()) h.kept = kept_weights(in, query, queries, keys, head);
  h.weights.resize(static_cast<size_t>(queries * keys));
  h.out.resize(static_cast<size_t>(queries * in.value_width));
  h.lse.resize(static_cast<size_t>(queries));
  RowProblem& p = h.problem;
  p = {in.score, queries, keys, in.key_width, in.value_width, h.q.data(), h.k.data(), h.v.data(), h.u.data(), in.scale};
  p.first = in.first ? h.first.data() : nullptr;
  p.last = in.first ? h.last.data() : nullptr;
  p.mask = in.mask ? h.mask.data() : nullptr;
  p.bias = in.bias ? h.bias.data() : nullptr;
  p.centre = in.centre ? h.centre.data() : nullptr;
  p.sigma = in.sigma;
  p.kept = in.dropout.active() ? h.kept.data() : nullptr;
  h.result = {h.weights.data(), h.out.data(), h.lse.data()};
  return h;
}

void add(const std::vector<double>& values, Rows m, int64_t begin, int64_t column, int64_t width) {
  for (size_t n = 0; m.data && n < values.size(); ++n) {
    float& target = m.row(begin + static_cast<int64_t>(n) / width)[column + static_cast<int64_t>(n) % width];
    target = static_cast<float>(target + values[n]);
  }
}
void add(const std::vector<double>& values, float* to) {
  for (size_t n = 0; to && n < values.size(); ++n) to[n] = static_cast<float>(to[n] + values[n]);
}
void add(const std::vector<double>& values, const RowPairs<float>& to, int64_t keys) {
  for (int64_t n = 0; to && n < static_cast<int64_t>(values.size()); ++n) {
    float& target = *to.at(n / keys, n % keys);
    target = static_cast<float>(target + values[static_cast<size_t>(n)]);
  }
}

}  // namespace

void row_attention_forward(const RowProblem& in, const RowResult& result) {
  for (int64_t i = 0; i < in.queries; ++i) {
    double* weights = result.weights + i * in.keys;
    double* out = result.out + i * in.value_width;
    result.lse[i] = softmax(in, i, weights);
    std::fill_n(out, in.value_width, 0.0);
    for (int64_t j = 0; j < in.keys; ++j) {
      if (!allowed(in, i, j)) continue;
      weights[j] *= gaussian(in, i, j);
      for (int64_t c = 0; c < in.value_width; ++c) out[c] += weights[j] * kept(in, i, j) * in.v[j * in.value_width + c];
    }
  }
}

//   dα_ij = g_ij m_ij (dout_i · v_j),  de_ij = α_ij (dα_ij - Σ_l α_il dα_il),  dv_j = Σ_i α_ij g_ij m_ij dout_i
//   dp_i = Σ_j α_ij dα_ij (j - p_i) / σ²
void row_attention_backward(const RowProblem& in, const double* dout, const RowDerivative& g) {
  std::vector<double> alpha(static_cast<size_t>(in.keys)), dalpha(static_cast<size_t>(in.keys));
  for (int64_t i = 0; i < in.queries; ++i) {
    softmax(in, i, alpha.data());
    double mean = 0;
    for (int64_t j = 0; j < in.keys; ++j) {
      if (!allowed(in, i, j)) continue;
      const double factor = gaussian(in, i, j) * kept(in, i, j);
      double dot = 0;
      for (int64_t c = 0; c < in.value_width; ++c) {
        dot += dout[i * in.value_width + c] * in.v[j * in.value_width + c];
        g.dv[j * in.value_width + c] += alpha[static_cast<size_t>(j)] * factor * dout[i * in.value_width + c];
      }
      dalpha[static_cast<size_t>(j)] = factor * dot;
      const double share = alpha[static_cast<size_t>(j)] * factor * dot;
      mean += share;
      if (in.centre) g.dcentre[i] += share * (static_cast<double>(j) - in.centre[i]) / (in.sigma * in.sigma);
    }
    for (int64_t j = 0; j < in.keys; ++j) {
      const auto n = static_cast<size_t>(j);
      if (allowed(in, i, j)) score_backward(in, i, j, alpha[n] * (dalpha[n] - mean), g);
    }
  }
}

void row_attention_forward(const RowAttention& in, Rows out, float* lse) {
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const Copy h = copy_head(in, b, head);
      row_attention_forward(h.problem, h.result);
      const int64_t begin = in.batch.query_begin[b];
      for (int64_t i = 0; i < h.problem.queries; ++i) {
        const double* row = h.out.data() + i * in.value_width;
        std::transform(row, row + in.value_width, out.row(begin + i) + head * in.value_width,
                       [](double x) { return static_cast<float>(x); });
        if (lse) lse[(begin + i) * in.heads + head] = static_cast<float>(h.lse[static_cast<size_t>(i)]);
      }
    }
  }
}

void row_attention_backward(const RowAttention& in, const RowAttentionGradient& gradient) {
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const Copy h = copy_head(in, b, head);
      const int64_t query = in.batch.query_begin[b], key = in.batch.key_begin[b];
      const int64_t key_column = int64_t{head} * in.key_width, value_column = int64_t{head} * in.value_width;
      const std::vector<double> dout = copy(gradient.dout, query, h.problem.queries, value_column, in.value_width);
      std::vector<double> dq(h.q.size()), dk(h.k.size()), dv(h.v.size()), du(h.u.size()), dcentre(h.centre.size()), dbias(h.weights.size());
      row_attention_backward(h.problem, dout.data(), {dq.data(), dk.data(), dv.data(), du.data(), dcentre.data(), dbias.data()});
      add(dq, gradient.dq, query, key_column, in.key_width);
      add(dk, gradient.dk, key, key_column, in.key_width);
      add(dv, gradient.dv, key, value_column, in.value_width);
      add(du, gradient.du ? gradient.du + key_column : nullptr);
      add(dbias, gradient.dbias.from(query, head), h.problem.keys);
      add(dcentre, gradient.dcentre ? gradient.dcentre + query : nullptr);
    }
  }
}

void row_attention_weights(const RowAttention& in, int sentence, int head, float* weights) {
  const Copy h = copy_head(in, sentence, head);
  row_attention_forward(h.problem, h.result);
  for (size_t n = 0; n < h.weights.size(); ++n) weights[n] = static_cast<float>(h.weights[n]);
}

}  // namespace jumok::kernels::ref
