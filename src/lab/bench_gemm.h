// jumok bench gemm: the matrix products of training, shape by shape, against the machine's multiply-add peak.
#pragma once

#include <string>
#include <vector>

#include "lab/machine.h"
#include "lab/timing.h"

namespace jumok {

struct BenchGemmOptions {
  std::vector<std::string> presets = {"transformer-tiny", "transformer-small", "transformer-base"};
  int rows = 512;                                     // of a micro-batch
  int vocabulary = 8000;                              // of the output layer, which runs in chunks of rows
  std::vector<int> step_rows = {8, 16, 32, 64, 128};  // sentences alive in a step of a recurrent layer
  int step_width = 256;                               // D of that layer
  int threads = 1;                                    // each with matrices of its own, as lanes have; 0: one a core
  double seconds = 0.05;                              // of each measurement
};

// One product of a weight [columns, inner]: forward y = x Wᵀ; dx = dy W; dw += dyᵀ x. Processor time of a thread, the mean over the
// threads.
struct GemmRate {
  std::string model, layer;  // "transformer-tiny", "qkv"
  std::string product;       // forward, dx, dw
  int64_t rows = 0, columns = 0, inner = 0;
  Spread seconds;               // of a product
  double gflops = 0;            // of all threads together, at the median
  double fraction_of_peak = 0;  // of the FMA peak of the threads
};

struct BenchGemmResult {
  MachineRoof roof;
  std::vector<GemmRate> rates;
};

BenchGemmResult bench_gemm(const BenchGemmOptions& options);

}  // namespace jumok
