// The attentions of the recurrent models, as choices: which score, which window, where in the decoder.
#pragma once

#include <cstdint>

namespace jumok {

// How a decoder state q (s_{t-1} or h_t) and an encoder state h_j make a score e_j.
enum class Score {
  kNoneInitial,    // no attention: the encoder's last state starts the decoder, and that is all (Sutskever 2014)
  kNoneEveryStep,  // no attention: the last state also enters every step and the readout (Cho 2014)
  kAdditive,       // v·tanh(W q + U h_j)                  Bahdanau 2015, A.1.2
  kDot,            // q·h_j                                Luong 2015 §3.1, content-based
  kGeneral,        // q·(W h_j)                            "
  kConcat,         // v·tanh(W [q; h_j])                   "
  kLocation,       // (W q)_j                              Luong 2015, eq. 8
  kScaledDot,      // (W_Q q)·(W_K h_j) / √d               Vaswani 2017, eq. 1
  kMultiHead,      // the same, H times on d = D / H       Vaswani 2017 §3.2.2
};
constexpr bool has_attention(Score s) { return s != Score::kNoneInitial && s != Score::kNoneEveryStep; }

// Which source positions a query sees (Luong 2015 §3.2).
enum class Window {
  kGlobal,  // all
  kLocalM,  // D to each side of p_t = t
  kLocalP,  // D to each side of a predicted p_t, weighted by a Gaussian around it
};

// Where the attention stands.
enum class Place {
  kInside,  // s_{t-1} → α_t → c_t → s_t: the context enters the recurrent step (Bahdanau 2015)
  kAfter,   // h_t → α_t → c_t → h̃_t: the context enters the readout (Luong 2015)
};

}  // namespace jumok
