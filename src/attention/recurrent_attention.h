// The attention of a recurrent decoder: projections in front of a score, a window, softmax, mix. Every mechanism from Bahdanau's to the
// heads of the Transformer is one row of this table (q is the decoder's state, h_j the encoder's):
//
//   score       query           key            value      output      source
//   additive    W_a q           U_a h_j        h_j        –           Bahdanau 2015, A.1.2
//   dot         q               h_j            h_j        –           Luong 2015 §3.1
//   general     q               W_a h_j        h_j        –           "
//   concat      W_a[:, q] q     W_a[:, h] h_j  h_j        –           "  (W_a [q; h_j] is a sum of two products)
//   location    W_a q: scores   –              h_j        –           "
//   scaled-dot  W_Q q           W_K h_j        W_V h_j    –           Vaswani 2017, eq. 1
//   multi-head  W_Q q           W_K h_j        W_V h_j    W_O         Vaswani 2017 §3.2.2
#pragma once

#include <span>
#include <string>

#include "attention/local.h"
#include "attention/mechanism.h"
#include "attention/multi_head.h"

namespace jumok {

struct RecurrentAttentionOptions {
  Score score = Score::kAdditive;
  Window window = Window::kGlobal;
  int half_width = 10;       // D of the local windows
  int heads = 1;             // of multi-head
  int64_t query_width = 0;   // of q
  int64_t memory_width = 0;  // of h_j
  int64_t inner_width = 0;   // of the projected query and key where both are projected
  int positions = 0;         // location: source positions that W_a knows; further ones are never looked at
};

// What one pass, of a whole target or of many steps, needs of the sources and of the weights.
struct RecurrentMemory {
  Variable keys, values;         // [Ns, inner or memory width], projected once and read by every step; keys without value for location
  DeferredWeight query, output;  // those that the score has
  CentreWeights centre;          // of local-p
};

// Rows of one call: a whole target at once, or one step of some sentences.
struct RecurrentCall {
  AttentionRows rows;
  std::span<const int32_t> position;  // [Nq] target position t of each query row
  std::span<const int32_t> sentence;  // [groups of rows] the sentence each group belongs to, for the maps
  RowDropout dropout;                 // on the weights
  AttentionMaps::Map* map =
      nullptr;  // wanted weights: [sentence · H + head] T × S each, already of the right size, and parts [sentence], if wanted; null: none
};

class RecurrentAttention {
 public:
  static RecurrentAttention make(ParameterLayout& layout, const std::string& name, const RecurrentAttentionOptions& options);

  int heads() const { return options_.heads; }
  int64_t context_width() const {
    return output_.exists() ? output_.weight.rows : values_.exists() ? values_.weight.rows : options_.memory_width;
  }

  // Called once a pass, before its first step; memory [Ns, memory width].
  RecurrentMemory prepare(Context& context, const Variable& memory) const;
  // The context vectors c [Nq, context width] of the states q [Nq, query width].
  Variable operator()(Context& context, const Variable& q, const RecurrentMemory& memory, const RecurrentCall& call) const;

 private:
  RecurrentAttentionOptions options_;
  Linear query_, keys_, values_, output_;  // those that the score has
  Parameter vector_;                       // v_a of the additive scores, [1, inner width]
  CentrePredictor centre_;                 // of local-p
};

}  // namespace jumok
