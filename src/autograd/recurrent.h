// Recurrent layers over packed batches: plain (tanh) RNN, GRU, LSTM.
#pragma once

#include <span>

#include "autograd/deferred_weight.h"
#include "kernels/recurrent_cell.h"

namespace jumok {

// The recurrent weight of a layer that runs in a loop, one step a call; its gradient is one product after the loop (see DeferredWeight).
struct RecurrentWeightSum {
  RecurrentWeightSum() = default;
  // Made before the loop; weight [G·D, D], bias [1, G·D] or absent, cell and reset_after as in RecurrentInput.
  RecurrentWeightSum(Context& context, const Parameter& weight, const Parameter& bias, kernels::Cell cell, bool reset_after);

  DeferredWeight state;      // the gates that multiply h
  DeferredWeight candidate;  // the GRU's n where the reset stands before the product: it multiplies r ∘ h
};

struct RecurrentInput {
  Variable x;                     // [N, G·D] the input half of the gates, a product with its bias; may be a column slice of a wider one
  Parameter weight;               // [G·D, D] the recurrent half; gate orders in kernels/recurrent_cell.h
  Parameter bias;                 // [1, G·D] of the recurrent half, or absent
  Variable initial_h, initial_c;  // [B, D] state before the first step; no value: zeros
  std::span<const int32_t> begin, length;  // [B] rows of each sentence, in any order; no row twice. Not needed after the call.
  kernels::Cell cell = kernels::Cell::kGru;
  bool reset_after = true;                  // GRU: the reset gate stands after the product
  bool reversed = false;                    // each sentence runs from its last row to its first
  Variable h;                               // [N, D] where h goes, e.g. one half of a wider value; no value: a new one
  const RecurrentWeightSum* sum = nullptr;  // where the weight gradient is collected; null: it is this call's own
  // [N, D] where the whole gradient of every state h_t goes, once the tape has run back: what h's readers gave (all that h.gradient holds)
  // and what came through the later states. 0 in rows of no sentence. No data: not wanted.
  Tensor state_gradient;
};

struct RecurrentOutput {
  Variable h;               // [N, D] the state after each row, packed like x; 0 in rows that belong to no sentence
  Variable last_h, last_c;  // [B, D] after each sentence's last step (length 0: the initial state); last_c without value unless LSTM
};

// Padding is never stored nor computed: sentences are stepped over together, longest first, and only those that are not over yet; per step
// one product of the states with W_h and one pass over the gates. A row's bits depend on its own sentence alone: not on the others, their
// order, nor on whether its steps came in one call or in many.
//   Backward: time runs back, one product dgates W_h a step; dW_h is one product over all steps. Rows of x in no sentence get 0.
// A call with one step for each of N = B sentences in order (a decoder's loop) copies nothing: h and last_h are then one Variable.
RecurrentOutput recurrent(Context& context, const RecurrentInput& in);

// Both directions of a layer (Schuster & Paliwal 1997; Bahdanau 2015 §3.2): h [N, 2·D] = [h forward; h backward]. `backward` is run
// reversed, over the same sentences; each direction brings its own x, weight and initial state. last of each: `backward` ends at the first
// row.
struct BidirectionalOutput {
  Variable h;  // [N, 2·D]
  RecurrentOutput forward, backward;
};
BidirectionalOutput bidirectional(Context& context, RecurrentInput forward, RecurrentInput backward);

}  // namespace jumok
