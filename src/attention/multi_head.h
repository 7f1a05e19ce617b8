// Multi-head attention (Vaswani 2017 §3.2.2):
//   MultiHead(Q, K, V) = [head_1; …; head_H] W_O      head_h = softmax(Q W_Q,h (K W_K,h)ᵀ / √d) V W_V,h
// Heads are columns of one matrix, read in place.
#pragma once

#include <string>
#include <vector>

#include "autograd/scaled_dot.h"
#include "nn/fused_linear.h"
#include "nn/layer_norm.h"

namespace jumok {

// Asks for the weights of the attentions a pass goes through; every attention appends to `maps`.
struct AttentionMaps {
  struct Map {
    std::string name;  // "encoder.layers.0.self_attention", …
    int heads = 0;
    std::vector<std::vector<float>> weights;  // [sentence · H + head]: T × S row-major, before dropout
  };
  std::string only;  // the one attention wanted, by name; empty: all
  std::vector<Map> maps;
};

// Rows, rule and dropout of one call.
struct AttentionCall {
  AttentionRows rows;
  bool causal = false;
  RowDropout dropout;             // on the weights; keys of the query rows
  AttentionMaps* maps = nullptr;  // null: weights are not wanted
};

// The dot products, softmax and mix alone, on projected q [Nq, H·d], k [Nk, H·d], v [Nk, H·d].
Variable attend(Context& context, const Variable& q, const Variable& k, const Variable& v, int heads, const std::string& name,
                const AttentionCall& call);

// Queries, keys and values from the same rows: W_Q, W_K, W_V are one product.
struct SelfAttention {
  std::string name;
  int heads = 1;
  Linear qkv;     // D → 3·D
  Linear output;  // D → D

  static SelfAttention make(ParameterLayout& layout, const std::string& name, int64_t width, int heads);
  Variable operator()(Context& context, const Variable& x, const AttentionCall& call) const;  // [N, D] → [N, D]
};

// Queries from the decoder, keys and values from the memory, projected by the caller for all layers at once.
struct CrossAttention {
  std::string name;
  int heads = 1;
  Linear query;   // D → D
  Linear output;  // D → D

  static CrossAttention make(ParameterLayout& layout, const std::string& name, int64_t width, int heads);
  Variable operator()(Context& context, const Variable& x, const Variable& k, const Variable& v, const AttentionCall& call) const;
};

}  // namespace jumok
