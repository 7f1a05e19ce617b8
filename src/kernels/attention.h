// Fused scaled dot-product attention over packed batches, forward and backward (Vaswani 2017, eq. 1), scores never stored:
//   e_ij = scale · q_i·k_j    blocked pairs: weight exactly 0
//   α_ij = softmax_j(e_ij)    a row with nothing allowed: weights 0, output 0, gradients 0
//   o_i  = Σ_j dropout(α_ij) v_j
#pragma once

#include <cstdint>

#include "kernels/dropout.h"
#include "kernels/rows.h"

namespace jumok::kernels {

// One head of one sentence finds its rows in place: queries are rows [query_begin, query_begin + query_length) and head h is columns
// [h·d, (h+1)·d) of q; keys and values likewise.
struct AttentionBatch {
  int sentences = 0;
  const int32_t* query_begin = nullptr;   // [sentences]
  const int32_t* query_length = nullptr;  // [sentences], T; may be 0
  const int32_t* key_begin = nullptr;     // [sentences]
  const int32_t* key_length = nullptr;    // [sentences], S; may be 0
};

struct Attention {
  ConstRows q, k, v;  // [Nq, H·d_k], [Nk, H·d_k], [Nk, H·d_v], read in place through the row stride
  AttentionBatch batch;
  int heads = 1, key_width = 0, value_width = 0;  // H, d_k, d_v
  float scale = 1;
  bool causal = false;  // query i of T sees keys j <= S - T + i
  Dropout dropout;      // on the weights; row_keys [Nq]; the column of (head h, key j) is h·65536 + j
};

// out [Nq, H·d_v]; lse [Nq, H] (log-sum-exp of each row's allowed scores, -inf for a fully blocked row), null when no backward follows.
// A row's bits depend only on q_i and its keys and values: not on T, on other sentences or on blocked keys' content (NaN included).
void attention_forward(const Attention& in, Rows out, float* lse);

// dq, dk, dv += (accumulate) or = (overwrite), from dout, with out and lse as the forward left them; probabilities come again from lse.
// workspace: attention_backward_workspace(in) floats. Blocked positions get gradient exactly 0.
struct AttentionGradient {
  ConstRows out, dout;
  const float* lse = nullptr;
  Rows dq, dk, dv;
  bool accumulate = false;  // of dq, dk and dv alike; false: rows of the batch are overwritten
  float* workspace = nullptr;
};
int64_t attention_backward_workspace(const Attention& in);
void attention_backward(const Attention& in, const AttentionGradient& gradient);

// The weights themselves, when asked for: of sentence b and head h, T × S floats row-major, blocked ones exactly 0, before dropout.
void attention_weights(const Attention& in, int sentence, int head, float* weights);

}  // namespace jumok::kernels
