// Multi-head attention (Vaswani 2017 §3.2.2):
//   MultiHead(Q, K, V) = [head_1; …; head_H] W_O      head_h = softmax(Q W_Q,h (K W_K,h)ᵀ / √d) V W_V,h
// Heads are columns of one matrix, read in place.
#pragma once

#include <string>
#include <vector>

#include "attention/attention_maps.h"
#include "attention/mechanism.h"
#include "autograd/scaled_dot.h"
#include "nn/fused_linear.h"
#include "nn/layer_norm.h"

namespace jumok {

// Rows, rule and dropout of one call.
struct AttentionCall {
  AttentionRows rows;
  bool causal = false;
  RowDropout dropout;             // on the weights; keys of the query rows
  AttentionMaps* maps = nullptr;  // null: weights are not wanted
};

// How the attentions of a Transformer are built. The defaults are the paper's; the rest takes a part away to see what it does.
enum class Sharing {
  kSeparate,    // W_Q, W_K, W_V
  kKeyIsValue,  // W_V = W_K: what is compared is also what is mixed
  kOne,         // W_Q = W_K = W_V
};
struct HeadOptions {
  int64_t width = 0;                            // D
  int heads = 1;                                // H
  bool scale = true;                            // scores · 1 / √d
  bool query = true, key = true, value = true;  // without one, the input itself stands in its place
  Sharing sharing = Sharing::kSeparate;
  Score score = Score::kScaledDot;  // of cross-attention: also additive (v·tanh(q + k) per head), dot and general
};

struct QueryKeyValue {
  Variable q, k, v;
};

// Scores, softmax and mix of all heads, and the product that joins them.
struct Heads {
  std::string name;
  int heads = 1;
  bool scale = true;
  Parameter vector;  // v_a of the additive score, [1, D]
  Linear output;     // W_O, D → D

  // q [Nq, D], k, v [Nk, D] → [Nq, D]
  Variable operator()(Context& context, const QueryKeyValue& x, const AttentionCall& call) const;
};

// Queries, keys and values from the same rows: W_Q, W_K, W_V are one product.
class SelfAttention {
 public:
  static SelfAttention make(ParameterLayout& layout, const std::string& name, const HeadOptions& options);
  QueryKeyValue project(Context& context, const Variable& x) const;  // [N, D]
  Variable operator()(Context& context, const Variable& x, const AttentionCall& call) const {
    return heads(context, project(context, x), call);
  }

  Heads heads;

 private:
  Linear projections_;                      // D → (as many as there are) · D
  int query_ = -1, key_ = -1, value_ = -1;  // which of them; -1: the input itself
};

// Queries from the decoder, keys and values from the memory.
class CrossAttention {
 public:
  static CrossAttention make(ParameterLayout& layout, const std::string& name, const HeadOptions& options);
  Variable operator()(Context& context, const Variable& x, const Variable& k, const Variable& v, const AttentionCall& call) const {
    return heads(context, {query_.exists() ? query_(context, x) : x, k, v}, call);
  }
  const Linear& query() const { return query_; }

  Heads heads;

 private:
  Linear query_;  // D → D, or absent
};

// Keys and values of the memory for every layer's cross-attention, as one product of the memory.
class MemoryProjection {
 public:
  MemoryProjection() = default;
  MemoryProjection(ParameterLayout& layout, const std::vector<CrossAttention>& layers, const HeadOptions& options);
  // K_0, V_0, K_1, V_1, …, [Ns, D] each.
  std::vector<Variable> operator()(Context& context, const Variable& memory) const;

 private:
  HeadOptions options_;
  std::vector<Linear> shared_;  // of Sharing::kOne: the queries' own projections
  Linear projections_;
  int layers_ = 0;
};

}  // namespace jumok
