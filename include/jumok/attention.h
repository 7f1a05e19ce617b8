// Scaled dot-product attention as a library: plain numbers in, plain numbers out. No model, no tape, no global state.
//   e_ij = scale · q_i·k_j + bias_ij    blocked pairs: weight exactly 0
//   α_ij = softmax_j(e_ij)              a row with nothing allowed: weights 0, output 0, gradients 0
//   o_i  = Σ_j α_ij v_j                 Vaswani et al. 2017, "Attention Is All You Need", eq. 1
// Computed tile by tile with a running softmax (Milakov & Gimelshein 2018; Dao et al. 2022, algorithms 1 and 4): the T × S scores are never
// stored, forward or backward, and tiles in which no pair is allowed (by position, by mask, or by a bias of −inf) are skipped. Letters: B
// sentences, H query heads, G key/value heads, T queries, S keys, d_k and d_v the widths of a head. Every function is safe to call from
// several threads at once, and throws jumok::Error, one line, where shapes do not fit.
//
//   using namespace jumok::attention;
//   std::vector<float> q(2 * 8 * 5 * 64), k(q), v(q), out(q), lse(2 * 8 * 5);    // [B, H, T, d] = [2, 8, 5, 64]
//   Problem p;
//   p.q = dense(q.data(), 2, 8, 5, 64), p.k = dense(k.data(), 2, 8, 5, 64), p.v = dense(v.data(), 2, 8, 5, 64);
//   p.rules.causal = true;
//   forward(p, {.out = dense(out.data(), 2, 8, 5, 64), .lse = dense(lse.data(), 2, 8, 5, 1)});
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "jumok/error.h"

namespace jumok::attention {

// How the numbers of q, k and v are stored: IEEE binary32, IEEE binary16, or the upper half of a binary32. The 16-bit types are widened as
// they are read; everything is computed in f32, and outputs and gradients are f32.
enum class Type { f32, f16, bf16 };

// [batch, heads, rows, columns]: element (b, h, r, c) stands at data + b·batch_stride + h·head_stride + r·row_stride + c. Strides count
// elements and may be 0 (the same numbers for all) or negative in what is read; in what is written no two elements may share a place (but
// gradients of shared keys and of a broadcast bias, which add up), nor one with what the same call reads.
struct ConstView {
  const void* data = nullptr;
  int64_t batch = 0, heads = 0, rows = 0, columns = 0;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
  Type type = Type::f32;
};
struct View {
  float* data = nullptr;
  int64_t batch = 0, heads = 0, rows = 0, columns = 0;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
  operator ConstView() const { return {data, batch, heads, rows, columns, batch_stride, head_stride, row_stride, Type::f32}; }
};

// Memory [batch, heads, rows, columns] without gaps.
inline ConstView dense(const void* data, int64_t batch, int64_t heads, int64_t rows, int64_t columns, Type type) {
  return {data, batch, heads, rows, columns, heads * rows * columns, rows * columns, columns, type};
}
inline ConstView dense(const float* data, int64_t batch, int64_t heads, int64_t rows, int64_t columns) {
  return dense(static_cast<const void*>(data), batch, heads, rows, columns, Type::f32);
}
inline View dense(float* data, int64_t batch, int64_t heads, int64_t rows, int64_t columns) {
  return {data, batch, heads, rows, columns, heads * rows * columns, rows * columns, columns};
}

// Memory [batch, rows, heads · columns] as a projection writes it: head h is columns [h · columns, (h + 1) · columns) of a row.
// row_stride: elements from row to row (0: heads · columns), e.g. 3 · H · d where q, k and v lie in one matrix.
inline ConstView interleaved(const void* data, int64_t batch, int64_t heads, int64_t rows, int64_t columns, int64_t row_stride, Type type) {
  const int64_t stride = row_stride ? row_stride : heads * columns;
  return {data, batch, heads, rows, columns, rows * stride, columns, stride, type};
}
inline ConstView interleaved(const float* data, int64_t batch, int64_t heads, int64_t rows, int64_t columns, int64_t row_stride = 0) {
  return interleaved(data, batch, heads, rows, columns, row_stride, Type::f32);
}
inline View interleaved(float* data, int64_t batch, int64_t heads, int64_t rows, int64_t columns, int64_t row_stride = 0) {
  const int64_t stride = row_stride ? row_stride : heads * columns;
  return {data, batch, heads, rows, columns, rows * stride, columns, stride};
}

// A value for each pair, [B, H, T, S]: at data + b·batch_stride + h·head_stride + i·query_stride + j·key_stride. A stride of 0 broadcasts.
template <typename T>
struct Pairs {
  T* data = nullptr;  // null: not there
  int64_t batch_stride = 0, head_stride = 0, query_stride = 0, key_stride = 1;
};

// Where the sentences lie. begin null: padded, sentence b is rows [0, length[b]) of batch entry b (length null: all rows). Else packed: the
// view's batch is 1, and sentence b is rows [begin[b], begin[b] + length[b]) of it.
struct Sequences {
  const int64_t* begin = nullptr;   // [B]
  const int64_t* length = nullptr;  // [B], from 0
};

// Which pairs (query i, key j of a sentence) may attend: those that every rule given allows. Query i stands at position offset + i.
struct Rules {
  bool causal = false;                 // j <= position
  int64_t left = -1, right = -1;       // position - left <= j <= position + right; -1: no limit on that side
  std::optional<int64_t> offset = {};  // of all sentences; unset: S - T of each sentence, the queries are the newest positions
  const int64_t* offsets = nullptr;    // [B] one a sentence; at most one of the two
  Pairs<const uint8_t> mask = {};      // true (not 0) = may attend
  Pairs<const float> bias = {};        // added to the score; -inf blocks the pair, a finite value never does
};

// Inverted dropout on the weights: each is 0 with probability `rate`, else multiplied by 1 / (1 - rate). Which ones is a function of (seed,
// sentence, head, query, key) alone: the same forward and backward, on every machine and for every number of threads. rate 0: none.
struct Dropout {
  float rate = 0;  // in [0, 1)
  uint64_t seed = 0;
};

struct Problem {
  ConstView q = {};  // [B, H, T, d_k]; packed: [1, H, N, d_k]
  ConstView k = {};  // [B, G, S, d_k], H a multiple of G: key/value head g serves the query heads [g · H/G, (g + 1) · H/G)
  ConstView v = {};  // [B, G, S, d_v]
  Sequences queries = {}, keys = {};
  int64_t sentences = 0;            // B; must be given where q and k are both packed
  std::optional<float> scale = {};  // unset: 1/√d_k
  Rules rules = {};
  Dropout dropout = {};
};

// How to run. Results do not depend on it, bit for bit.
struct Run {
  int threads = 1;             // at least 1; more are started for the call and ended with it
  void* workspace = nullptr;   // forward_workspace() or backward_workspace() bytes, any alignment of float; null: allocated for the call
  size_t workspace_bytes = 0;  // of `workspace`
};

// out [B, H, T, d_v] (packed: [1, H, N, d_v]) and, where a backward follows, lse [B, H, T, 1] (packed: [1, H, N, 1]): the natural logarithm
// of Σ_j exp(e_ij), -inf for a row with nothing allowed. Rows past a sentence's length get 0 and -inf; rows of no packed sentence are not
// touched.
struct Result {
  View out = {};
  View lse = {};  // data null: not wanted
};
void forward(const Problem& problem, const Result& result, const Run& run = {});
size_t forward_workspace(const Problem& problem, int threads = 1);

// Gradients of a loss from dout = ∂loss/∂out; out and lse as forward left them. dq, dk, dv have the shapes of q, k, v; rows past a length
// get 0. dbias has the strides of a broadcast bias, or others; it sums over what it broadcasts. Gradients of blocked pairs are exactly 0.
// `accumulate`: added to what is there. Weights are computed again as exp(e - lse), so their relative error is that of lse in f32: about
// 6e-8 · |lse|. Sentences that share keys (batch_stride 0, or packed rows that overlap) add up, and then run on one
// thread; so do all where dbias broadcasts over sentences or heads.
struct Gradient {
  ConstView out = {}, dout = {}, lse = {};
  View dq = {}, dk = {}, dv = {};
  Pairs<float> dbias = {};  // data null: not wanted
  bool accumulate = false;
};
void backward(const Problem& problem, const Gradient& gradient, const Run& run = {});
size_t backward_workspace(const Problem& problem, int threads = 1);

// Additive attention (Bahdanau et al. 2015, A.1.2; "concat" of Luong et al. 2015, with W q and U h projected by the caller):
//   e_ij = v_h · tanh(q_i + k_j)
// for each head h, everything else as above: lengths (packed and padded), grouped heads, every field of `rules` and dropout, which
// dropout_factors() describes. Of `problem` it takes f32 views and refuses `scale`. score [H, d_k] holds the vectors v_h, one after the
// other. Memory is O(T·d + S·d), of additive_weights the result alone: the T × S × d sums are formed in registers and again in the
// backward; tanh has an error of at most 5 ulp. Keys that a mask or a bias blocks are not read; under either the queries are taken one by
// one. The workspace of `run` is not used: a few numbers a query are allocated for the call. Rows past a sentence's length, of what is
// written, get 0 (lse: -inf).
void additive_forward(const Problem& problem, const float* score, const Result& result, const Run& run = {});
void additive_weights(const Problem& problem, const float* score, const View& result, const Run& run = {});
// dscore [H, d_k] sums over the sentences, in their order whatever the threads. Key/value heads run on threads of their own; where dbias
// broadcasts over heads, all on one.
void additive_backward(const Problem& problem, const float* score, const Gradient& gradient, float* dscore, const Run& run = {});

// On request only, at T × S cost, each [B, H, T, S] (T, S: the longest sentence's). weights: α before dropout, 0 where blocked or past a
// length. scores: e, -inf where blocked or past a length. dropout_factors: what dropout multiplies α with, 0 or 1 / (1 - rate); rows past a
// length get 0.
void weights(const Problem& problem, const View& result, const Run& run = {});
void scores(const Problem& problem, const View& result, const Run& run = {});
void dropout_factors(const Problem& problem, const View& result);

}  // namespace jumok::attention
