// What an update of training costs at the machine's limits: the prediction beside which `jumok bench train` sets its measurement.
#pragma once

#include <array>

#include "base/profile.h"
#include "data/batches.h"
#include "lab/machine.h"
#include "models/encoder_decoder.h"

namespace jumok {

// The work of some part of an update. At the roof its arithmetic runs at the FMA peak, its exponentials at the rate of exp in the
// first-level cache, and what it reads and writes of activations and parameters moves at the rate of reading memory, one after the other.
struct PartWork {
  double flop = 0, exps = 0, floats = 0;
  double seconds(const MachineRoof& roof) const { return flop / roof.fma + exps / roof.exp + 4 * floats / roof.read; }
};

// Of one update over all of a corpus. A part of which nothing is known here stays 0: the attention of recurrent models and their cells,
// other scores than the scaled dot.
struct UpdateWork {
  std::array<PartWork, static_cast<size_t>(Part::kCount)> parts;
  PartWork optimiser;  // the sum of the lanes' gradients, and Adam
};
UpdateWork work_of_update(const EncoderDecoder& model, const ParallelCorpus& corpus, int lanes);

// Matrices that a symbol is multiplied by: all but embeddings that are only looked up, and positions.
int64_t count_product_weights(const EncoderDecoder& model);

}  // namespace jumok
