// The recurrent decoder with its attention, inside the step or after it.
//
// inside (Bahdanau 2015, eq. 4-6, A.2.2)             after (Luong 2015 §3)
//   c_t = attention(s_{t-1}, h)                        h_t = RNN(E y_{t-1} [; h̃_{t-1}], h_{t-1})
//   s_t = RNN(E y_{t-1}, c_t; s_{t-1})                 c_t = attention(h_t, h)
//   readout(s_t, E y_{t-1}, c_t)                       h̃_t = tanh(W_c [c_t; h_t])    eq. 5; its logits W_s h̃_t: eq. 6
//
// none (Sutskever 2014 §2; Luong 2015, eq. 3)        none, in every step (Cho 2014 §2.2; Bahdanau 2015, eq. 3)
//   h_t = RNN(E y_{t-1}; h_{t-1})                      h_t = RNN(E y_{t-1}, c; h_{t-1})
//   readout(h_t): g of Luong 2015, eq. 2               readout(h_t, E y_{t-1}, c): their g
//
// Without a loop through the attention (after, no input feeding; no attention) a whole target is one pass of the recurrent layers, one of
// the attention and one of the readout. Otherwise the same pass is made for one time step after the other.
#pragma once

#include <vector>

#include "attention/recurrent_attention.h"
#include "models/rnn_encoder.h"

namespace jumok {

// What a decoder carries from step to step; a row for each sentence or live hypothesis.
struct RnnState {
  std::vector<Variable> h, c;  // a layer each, [R, D]; c of the LSTM only
  Variable fed;                // h̃_{t-1} [R, D], with input feeding
};

// Everything of a pass that does not change from step to step.
struct RnnPass {
  RecurrentMemory memory;                  // with attention
  Variable fixed;                          // none-every-step: c [B, D] of each sentence
  std::vector<RecurrentWeightSum> layers;  // weights whose gradients are summed over the steps
  std::vector<DeferredWeight> inputs;      // of the second layer on
  DeferredWeight context, feed, readout;
};

// Rows of one call of the decoder: whole targets, or one row for each live sentence or hypothesis.
struct RnnRows {
  std::span<const int32_t> begin, length;  // [R] the rows of each state
  std::span<const int32_t> sentence;       // [N] of each row
  RecurrentCall attention;
  RowDropout dropout;
};

class RnnDecoder {
 public:
  RnnDecoder() = default;
  RnnDecoder(ParameterLayout& layout, const ModelConfig& config, const RnnEncoder& encoder);

  bool steps_depend_on_attention() const { return has_attention_ && (place_ == Place::kInside || input_feeding_); }
  int attention_heads() const { return has_attention_ ? attention_.heads() : 0; }

  RnnPass start(Context& context, const RnnEncoded& source) const;
  RnnState first_state(Context& context, const RnnEncoded& source, const RnnPass& pass) const;

  // The part of the first layer's gates that needs no state, in one product: e [N, D] embedded inputs, sentence [N] of each row.
  Variable input_gates(Context& context, const Variable& e, const RnnPass& pass, std::span<const int32_t> sentence) const;

  // Steps over the rows from `state`, which becomes the state after them: h [N, D] of the last layer and the context c [N, ·], attended or
  // fixed, if any.
  struct Output {
    Variable h, c;
  };
  Output run(Context& context, Variable gates, RnnState& state, const RnnPass& pass, const RnnRows& rows) const;

  // What the output layer reads, [N, D].
  Variable readout(Context& context, const Variable& e, const Output& output, const RnnPass& pass, const RowDropout& dropout) const;
  bool feeds_input() const { return input_feeding_; }

 private:
  int64_t context_width() const;
  void make_first_state(ParameterLayout& layout, const ModelConfig& config, const RnnEncoder& encoder);
  void make_readout(ParameterLayout& layout, const ModelConfig& config);

  bool has_attention_ = false, every_step_ = false, input_feeding_ = false, residual_ = false;
  Place place_ = Place::kInside;
  Readout readout_kind_ = Readout::kMaxout;
  int64_t width_ = 0;                      // D
  Linear summary_;                         // none-every-step: c = tanh(V h)
  std::vector<Linear> first_h_, first_c_;  // the bridge, a layer each; empty where the state is copied
  std::vector<Recurrent> layers_;
  Linear fixed_, context_, feed_;  // c (fixed or attended), h̃_{t-1} → the first layer's gates
  RecurrentAttention attention_;
  Linear readout_;
};

}  // namespace jumok
