// Output layer and loss in row chunks: the [N, V] logits never exist as a whole (Vaswani 2017 §3.4, §5.4).
//   p(y_t | y_<t, x) = softmax(W h_t + b)      Cho 2014, eq. 2; Luong 2015, eq. 2, and eq. 6 where h_t is h̃_t
#pragma once

#include <span>

#include "autograd/context.h"

namespace jumok {

struct OutputLossInput {
  Variable hidden;                   // [N, D]
  Parameter weight, bias;            // [V, D], [1, V] or absent
  std::span<const int32_t> targets;  // [N], in [0, V): checked
  float smoothing = 0;
  std::span<const int32_t> forbidden;  // of output_nll: symbols that a search may not produce, left out of the normalisation as there
};
struct OutputLoss {
  double loss = 0;     // Σ_n smoothed cross-entropy
  double nll = 0;      // Σ_n -log p(target)
  int64_t tokens = 0;  // N
};

// Rows of a chunk at most: enough for the products to run well, few enough for the logits to take 20 MB where the vocabulary allows it.
int64_t output_chunk_rows(int64_t vocabulary);

// Sums over the rows. While recording, the gradients of the *sum* go to the weights at once and to `hidden` (this op is the start of the
// backward); dividing by the number of tokens is the optimiser's.
OutputLoss output_loss(Context& context, const OutputLossInput& in);

// The logits themselves, [N, V] without gaps (a decoding step, where N is a few hypotheses). `targets` is not read.
void output_logits(Context& context, const OutputLossInput& in, float* logits);

// -log p(target_n) of each row, [N] (inference; same chunks). A forbidden symbol has probability 0 in every row but those whose target it
// is.
void output_nll(Context& context, const OutputLossInput& in, float* nll);

}  // namespace jumok
