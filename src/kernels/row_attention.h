// The attention of the RNN models, one query row at a time over packed batches, forward and backward; scores never stored beyond a row:
//   e_ij = u·tanh(q_i + k_j)    kAdditive: Bahdanau 2015, A.1.2; Luong 2015 §3.1 "concat"
//          scale · q_i·k_j      kDot: Luong 2015 §3.1 "dot" and "general"
//          q_ij                 kGiven: Luong 2015, eq. 8 ("location")
//   α_ij = softmax of e_ij over the allowed j    Bahdanau 2015, eq. 6; Luong 2015, eq. 7. A row with nothing allowed: weights 0, output 0,
//   gradients 0
//   w_ij = α_ij exp(-(j - p_i)² / 2σ²)           Luong 2015, eq. 10, not renormalised; w_ij = α_ij without a centre
//   o_i  = Σ_j dropout(w_ij) v_j                 Bahdanau 2015, eq. 5
// With a bias, e_ij + bias_ij in the place of e_ij.
#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/dropout.h"
#include "kernels/rows.h"

namespace jumok::kernels {

enum class RowScore { kDot, kAdditive, kGiven };

// A value for each pair of query row n and key j (counted from the first key of its sentence) of head h, at data + n · query_stride +
// j · key_stride + h · head_stride. A stride of 0 broadcasts. data null: none.
template <typename T>
struct RowPairs {
  T* data = nullptr;
  int64_t query_stride = 0, key_stride = 1, head_stride = 0;
  explicit operator bool() const { return data != nullptr; }
  T* at(int64_t n, int64_t j) const { return data + n * query_stride + j * key_stride; }
  // Beginning at query row n and head h.
  RowPairs from(int64_t n, int64_t h) const {
    return {data ? data + n * query_stride + h * head_stride : nullptr, query_stride, key_stride, head_stride};
  }
};

struct RowAttention {
  // q [Nq, H·d_k], k [Nk, H·d_k], v [Nk, H·d_v], read in place through the row stride. kGiven: q [Nq, H·d_k] holds the scores of the
  // first d_k positions of a sentence, positions from d_k on are blocked, and k is not read.
  ConstRows q, k, v;
  AttentionBatch batch;
  RowScore score = RowScore::kDot;
  const float* u = nullptr;                       // [H·d_k], of kAdditive
  int heads = 1, key_width = 0, value_width = 0;  // H, d_k, d_v
  float scale = 1;                                // of kDot
  // Query row n sees the keys [first[n], last[n]), counted from the first key of its sentence and clipped to it: [Nq] each. Both null: all.
  const int32_t *first = nullptr, *last = nullptr;
  RowPairs<const uint8_t> mask;   // not 0: may attend
  RowPairs<const float> bias;     // added to the score; -inf blocks the pair
  const float* centre = nullptr;  // p, [Nq], in positions of the row's sentence; null: no Gaussian
  float sigma = 1;                // σ > 0, of the Gaussian
  Dropout dropout;                // on the weights; row_keys [Nq]; the column of (head h, key j) is first_column + h·65536 + j
  uint32_t first_column = 0;
};

// out [Nq, H·d_v]; lse [Nq, H] (log-sum-exp of each row's allowed scores, -inf for a row with none), null when no backward follows. Rows of
// no sentence are left alone.
// A row's bits depend only on q_i and its keys and values: not on T, on other sentences or on blocked keys' content (NaN included).
// Keys that mask or bias block are as good as not there: a row of out and lse has the bits it would have without them.
void row_attention_forward(const RowAttention& in, Rows out, float* lse);

// Adds to dq (of kGiven: the gradient of the scores), dk, dv, du [H·d_k], dcentre [Nq] and dbias; where one is null nobody asks for it.
// Reads out and lse as the forward left them. workspace: row_attention_backward_workspace(in) floats. Blocked pairs add nothing. dk and dv
// take the queries in rising order, so a call per row leaves the bits of one call for all of them.
struct RowAttentionGradient {
  ConstRows out, dout;
  const float* lse = nullptr;
  Rows dq, dk, dv;
  float* du = nullptr;
  float* dcentre = nullptr;
  RowPairs<float> dbias;
  float* workspace = nullptr;
};
int64_t row_attention_backward_workspace(const RowAttention& in);
void row_attention_backward(const RowAttention& in, const RowAttentionGradient& gradient);

// The weights w themselves, when asked for: of one sentence and head, T × S floats, row i at weights + i · stride (0: S), blocked ones
// exactly 0, before dropout.
void row_attention_weights(const RowAttention& in, int sentence, int head, float* weights, int64_t stride = 0);

}  // namespace jumok::kernels
