// What a recurrent decoder does before and behind its attention, which the parts of an attention do not hold.
#pragma once

#include "attention/attention_maps.h"
#include "models/seq2seq.h"
#include "translate/forced.h"

namespace jumok {

struct DecoderRows {
  NumberTable asking;   // [T, D] what the attention asks with: s_{t−1} inside the recurrent step, h_t after it
  NumberTable readout;  // [T, D] what the output layer reads: h̃_t (Luong 2015, eq. 5), t_t (Bahdanau 2015, A.2.2)
};

// The given pair once more, step by step; its numbers are those of a pass over the whole target. T counts the end symbol.
DecoderRows decoder_rows(const Seq2Seq& model, const float* parameters, const SymbolPair& pair);

}  // namespace jumok
