#include "kernels/ref/attention.h"

#include <cmath>
#include <limits>
#include <vector>

namespace jumok::kernels::ref {
namespace {

bool visible(const AttentionProblem& in, int64_t i, int64_t j) {
  if (in.causal && j > in.keys - in.queries + i) return false;
  if (in.bias && in.bias[i * in.keys + j] == -std::numeric_limits<double>::infinity()) return false;
  return !in.allowed || in.allowed[i * in.keys + j] != 0;
}

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += a[c] * b[c];
  return sum;
}

// One head of one sentence, copied out of the f32 matrices.
struct Copy {
  std::vector<double> q, k, v, kept, weights, out, lse;
  AttentionProblem problem;
  AttentionResult result;
};

std::vector<double> copy(ConstRows m, int64_t begin, int64_t rows, int64_t column, int64_t width) {
  std::vector<double> values(static_cast<size_t>(rows * width));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) values[r * width + c] = m.row(begin + r)[column + c];
  }
  return values;
}

std::vector<double> kept_weights(const Attention& in, int64_t query_begin, int64_t queries, int64_t keys, int head) {
  std::vector<double> kept(static_cast<size_t>(queries * keys));
  for (int64_t i = 0; i < queries; ++i) {
    const uint32_t seed = dropout_row_seed(in.dropout.row_keys[query_begin + i], in.dropout.site);
    for (int64_t j = 0; j < keys; ++j) {
      const bool keep = dropout_bits(seed, static_cast<uint32_t>(head * 65536 + j)) >= keep_threshold(in.dropout.rate);
      kept[i * keys + j] = keep ? 1.0 / (1.0 - in.dropout.rate) : 0.0;
    }
  }
  return kept;
}

Copy copy_head(const Attention& in, int sentence, int head) {
  const AttentionBatch& b = in.batch;
  const int64_t queries = b.query_length[sentence], keys = b.key_length[sentence];
  Copy h;
  h.q = copy(in.q, b.query_begin[sentence], queries, int64_t{head} * in.key_width, in.key_width);
  h.k = copy(in.k, b.key_begin[sentence], keys, int64_t{head} * in.key_width, in.key_width);
  h.v = copy(in.v, b.key_begin[sentence], keys, int64_t{head} * in.value_width, in.value_width);
  if (in.dropout.active()) h.kept = kept_weights(in, b.query_begin[sentence], queries, keys, head);
  h.weights.resize(queries * keys);
  h.out.resize(queries * in.value_width);
  h.lse.resize(queries);
  h.problem = {queries,    keys,       in.key_width, in.value_width, h.q.data(),
               h.k.data(), h.v.data(), in.scale,     in.causal,      in.dropout.active() ? h.kept.data() : nullptr};
  h.result = {h.weights.data(), h.out.data(), h.lse.data()};
  return h;
}

void put(const std::vector<double>& values, Rows m, int64_t begin, int64_t column, int64_t width, bool accumulate) {
  for (size_t n = 0; n < values.size(); ++n) {
    float& target = m.row(begin + static_cast<int64_t>(n) / width)[column + static_cast<int64_t>(n) % width];
    target = static_cast<float>(values[n] + (accumulate ? static_cast<double>(target) : 0.0));
  }
}

}  // namespace

void attention_forward(const AttentionProblem& in, const AttentionResult& result) {
  for (int64_t i = 0; i < in.queries; ++i) {
    double* weights = result.weights + i * in.keys;
    double* out = result.out + i * in.value_width;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < in.keys; ++j) {
      if (!visible(in, i, j)) continue;
      weights[j] = in.scale * dot(in.q + i * in.key_width, in.k + j * in.key_width, in.key_width);
      if (in.bias) weights[j] += in.bias[i * in.keys + j];
      largest = std::fmax(largest, weights[j]);
    }
    for (int64_t j = 0; j < in.keys; ++j) sum += weights[j] = visible(in, i, j) ? std::exp(weights[j] - largest) : 0.0;
    for (int64_t j = 0; j < in.keys; ++j) weights[j] = visible(in, i, j) ? weights[j] / sum : 0.0;
    result.lse[i] = largest + std::log(sum);

    for (int64_t c = 0; c < in.value_width; ++c) out[c] = 0;
    for (int64_t j = 0; j < in.keys; ++j) {
      if (!visible(in, i, j)) continue;
      const double w = in.kept ? weights[j] * in.kept[i * in.keys + j] : weights[j];
      for (int64_t c = 0; c < in.value_width; ++c) out[c] += w * in.v[j * in.value_width + c];
    }
  }
}

//   m_ij = kept_ij,  dα_ij = m_ij (dout_i · v_j),  dbias_ij = de_ij = α_ij (dα_ij - Σ_l α_il dα_il)
//   dv_j = Σ_i α_ij m_ij dout_i,  dq_i = scale Σ_j de_ij k_j,  dk_j = scale Σ_i de_ij q_i
void attention_backward(const AttentionProblem& in, const double* dout, double* dq, double* dk, double* dv, double* dbias) {
  const int64_t dk_width = in.key_width, dv_width = in.value_width;
  std::vector<double> weights(in.queries * in.keys), out(in.queries * dv_width), lse(in.queries), dweights(in.keys);
  attention_forward(in, {weights.data(), out.data(), lse.data()});
  std::fill(dq, dq + in.queries * dk_width, 0.0);
  std::fill(dk, dk + in.keys * dk_width, 0.0);
  std::fill(dv, dv + in.keys * dv_width, 0.0);
  if (dbias) std::fill(dbias, dbias + in.queries * in.keys, 0.0);
  for (int64_t i = 0; i < in.queries; ++i) {
    const double* w = weights.data() + i * in.keys;
    double mean = 0;
    for (int64_t j = 0; j < in.keys; ++j) {
      if (!visible(in, i, j)) continue;
      const double kept = in.kept ? in.kept[i * in.keys + j] : 1.0;
      dweights[j] = kept * dot(dout + i * dv_width, in.v + j * dv_width, dv_width);
      mean += w[j] * dweights[j];
      for (int64_t c = 0; c < dv_width; ++c) dv[j * dv_width + c] += w[j] * kept * dout[i * dv_width + c];
    }
    for (int64_t j = 0; j < in.keys; ++j) {
      if (!visible(in, i, j)) continue;
      const double de = w[j] * (dweights[j] - mean);
      if (dbias) dbias[i * in.keys + j] = de;
      for (int64_t c = 0; c < dk_width; ++c) {
        dq[i * dk_width + c] += in.scale * de * in.k[j * dk_width + c];
        dk[j * dk_width + c] += in.scale * de * in.q[i * dk_width + c];
      }
    }
  }
}

void attention_forward(const Attention& in, Rows out, float* lse) {
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const Copy h = copy_head(in, b, head);
      attention_forward(h.problem, h.result);
      const int64_t begin = in.batch.query_begin[b];
      put(h.out, out, begin, int64_t{head} * in.value_width, in.value_width, false);
      for (int64_t i = 0; lse && i < h.problem.queries; ++i) lse[(begin + i) * in.heads + head] = static_cast<float>(h.lse[i]);
    }
  }
}

void attention_backward(const Attention& in, const AttentionGradient& gradient) {
  for (int b = 0; b < in.batch.sentences; ++b) {
    for (int head = 0; head < in.heads; ++head) {
      const Copy h = copy_head(in, b, head);
      const int64_t query_begin = in.batch.query_begin[b], key_begin = in.batch.key_begin[b];
      const int64_t key_column = int64_t{head} * in.key_width, value_column = int64_t{head} * in.value_width;
      const std::vector<double> dout = copy(gradient.dout, query_begin, h.problem.queries, value_column, in.value_width);
      std::vector<double> dq(h.q.size()), dk(h.k.size()), dv(h.v.size());
      attention_backward(h.problem, dout.data(), dq.data(), dk.data(), dv.data());
      put(dq, gradient.dq, query_begin, key_column, in.key_width, gradient.accumulate);
      put(dk, gradient.dk, key_begin, key_column, in.key_width, gradient.accumulate);
      put(dv, gradient.dv, key_begin, value_column, in.value_width, gradient.accumulate);
    }
  }
}

void attention_weights(const Attention& in, int sentence, int head, float* weights) {
  const Copy h = copy_head(in, sentence, head);
  attention_forward(h.problem, h.result);
  for (size_t n = 0; n < h.weights.size(); ++n) weights[n] = static_cast<float>(h.weights[n]);
}

}  // namespace jumok::kernels::ref
