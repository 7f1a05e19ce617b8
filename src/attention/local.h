// Local attention (Luong 2015 §3.2): a query of target position t sees the source positions [p_t - D, p_t + D] of its sentence.
#pragma once

#include <span>
#include <string>

#include "autograd/scaled_dot.h"
#include "nn/linear.h"

namespace jumok {

// Keys [first, last) of each query row, in positions of its own sentence; [Nq] each, in the arena.
struct KeyRanges {
  std::span<const int32_t> first, last;
};

// local-m: p_t = t, kept inside the sentence: min(t, S - 1). position [Nq] is t.
KeyRanges monotonic_window(Arena& arena, const AttentionRows& rows, std::span<const int32_t> position, int half_width);

// local-p: whole positions within D of the predicted centre [Nq, 1].
KeyRanges window_around(Arena& arena, const Tensor& centre, int half_width);

//   p_t = S · sigmoid(v_p · tanh(W_p h_t))        eq. 9
struct CentrePredictor {
  Linear hidden;  // W_p, D → D
  Linear score;   // v_p, D → 1

  static CentrePredictor make(ParameterLayout& layout, const std::string& name, int64_t width);
  bool exists() const { return score.exists(); }
};

// The weights of a pass, whose gradients are one product each however many steps the pass has.
struct CentreWeights {
  DeferredWeight hidden, score;
  CentreWeights() = default;
  CentreWeights(Context& context, const CentrePredictor& c) : hidden(context, c.hidden.weight, {}), score(context, c.score.weight, {}) {}
};
Variable predict_centre(Context& context, const CentreWeights& weights, const Variable& query,
                        const AttentionRows& rows);  // [Nq, D] → [Nq, 1]

}  // namespace jumok
