// The recurrent encoder: one or both directions, stacked (Sutskever 2014 §3; Bahdanau 2015 §3.2; Luong 2015 §3).
//   h_j = f(x_j, h_{j-1})      Cho 2014, eq. 1; Bahdanau 2015, eq. 1
//   summary = q(h_1, …, h_S)   Bahdanau 2015, eq. 1; the v of Sutskever 2014, the c of Cho 2014 is a layer over it
#pragma once

#include <vector>

#include "models/config.h"
#include "nn/layer_norm.h"
#include "nn/recurrent.h"

namespace jumok {

struct RnnEncoded {
  Variable states;                       // h_j, [Ns, encoder width]; both directions side by side: [→h_j; ←h_j]
  std::vector<Variable> last_h, last_c;  // a layer each, [B, encoder width]: what every direction ended with; last_c of the LSTM only
  Variable summary;                      // [B, ·] the state that has read all: ←h_1 of the last layer, or the one direction's last state
};

struct RnnSource {
  std::span<const int32_t> begin, length;  // [B] the rows of each sentence
  RowDropout dropout;
  Tensor state_gradient;  // [Ns, encoder width] where ∂loss/∂h_j goes, later states of the last layer counted; no data: not wanted
};

class RnnEncoder {
 public:
  RnnEncoder() = default;
  RnnEncoder(ParameterLayout& layout, const ModelConfig& config);

  int64_t summary_width() const { return bidirectional_ ? width_ / 2 : width_; }

  // x [Ns, D] embedded sources.
  RnnEncoded operator()(Context& context, Variable x, const RnnSource& source) const;

 private:
  struct Layer {
    Recurrent forward, backward;  // backward only where the encoder is bidirectional
  };
  int64_t width_ = 0;
  bool bidirectional_ = false, reversed_ = false, residual_ = false;
  std::vector<Layer> layers_;
};

}  // namespace jumok
