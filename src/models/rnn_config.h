// The recurrent encoder-decoder as choices: every mechanism from Seq2Seq to multi-head attention is one setting of these.
#pragma once

#include "attention/mechanism.h"
#include "kernels/recurrent_cell.h"

namespace jumok {

// What goes from the decoder's state to the output layer.
enum class Readout {
  kPlain,   // h_t itself (Sutskever 2014)
  kTanh,    // h̃_t = tanh(W_c [c_t; h_t])                              Luong 2015, eq. 5
  kLinear,  // W [s_t; E y_{t-1}; c_t]
  kMaxout,  // max of pairs of W [s_t; E y_{t-1}; c_t]                 Bahdanau 2015, A.2.2
};

// Where the decoder's first state comes from.
enum class FirstState {
  kBridge,  // s_0 = tanh(W_s ←h_1), of the encoder's last layer       Bahdanau 2015, A.2.2
  kCopy,    // the last states of the encoder, layer by layer          Sutskever 2014, Luong 2015
};

struct RnnConfig {
  kernels::Cell cell = kernels::Cell::kGru;
  bool reset_after = true;    // GRU: reset gate after the product (cuDNN, PyTorch) or before it (Cho 2014, eq. 8)
  int encoder_width = 0;      // of h_j, both directions together; 0: D, or 2 D where `wide`
  bool wide = false;          // every direction is as wide as the decoder (Bahdanau 2015, A.2.1)
  bool bidirectional = true;  // half of h_j reads forward, half backward (Bahdanau 2015 §3.2)
  bool reversed = false;      // a one-way encoder reads the source from its end (Sutskever 2014 §3.3)
  bool residual = true;       // from the second layer on, where widths agree
  FirstState first_state = FirstState::kBridge;
  Score score = Score::kAdditive;
  Place place = Place::kInside;
  Window window = Window::kGlobal;
  int half_width = 10;  // D of the local windows
  int inner_width = 0;  // of projected queries and keys; 0: D
  int location_positions = 100;
  bool input_feeding = false;  // h̃_{t-1} enters the step (Luong 2015 §3.3)
  Readout readout = Readout::kMaxout;
};

}  // namespace jumok
