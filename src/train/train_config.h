// How a model is trained: the "training" part of config.json.
#pragma once

#include <cstdint>

#include "models/config.h"

namespace jumok {

enum class Metric { kLoss, kBleu, kChrf };  // what the kept model is chosen by

struct TrainConfig {
  double rate = 0;                                   // peak learning rate; 0: 1 / sqrt(D · warm-up), the paper's
  int warm_up = 4000;                                // updates until the peak
  double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9;  // Adam (Vaswani 2017 §5.3)
  double clip = 1;                                   // largest norm of the gradient per token; 0: not clipped
  double label_smoothing = 0.1;
  double dropout = 0.1;          // of embeddings and sublayer outputs
  double attention_dropout = 0;  // of attention weights
  int batch_tokens = 4096;       // target symbols of an update
  int lanes = 8;                 // parts an update is dealt to; results depend on it, threads up to it help
  int micro_batch_rows = 1024;   // most rows of either side a lane computes at once
  int max_length = 256;          // longest side kept, in symbols
  int validate_every = 500;      // updates
  Metric metric = Metric::kChrf;
  int snapshot_every = 100;  // updates between the parameter sets that are averaged
  int average = 10;          // how many of the last of them
  int patience = 10;         // validations without a better score until training stops; 0: never
};

// Where a preset starts from: a recurrent model learns well at twice the Transformer's rate and warms up sooner. A language model is for
// its probabilities: no label smoothing, and the kept model is chosen by loss.
TrainConfig training_preset(Architecture architecture);

// The table of the options. A language model's kept parameters are chosen by loss alone.
Settings train_settings(TrainConfig& config, Architecture architecture = Architecture::kTransformer);

// Inverse square root with linear warm-up (Vaswani 2017, eq. 3), scaled so that the peak at `warm_up` is `peak`:
//   rate(t) = peak · min(t / warm_up, sqrt(warm_up / t))        t = 1, 2, …
double learning_rate(double peak, int warm_up, int64_t update);
double peak_rate(const TrainConfig& config, int width);  // config.rate, or the paper's

}  // namespace jumok
