// jumok bench attention --score additive: v·tanh(q + k) of jumok/attention.h against the machine's own rate of tanh.
#pragma once

#include <vector>

#include "lab/machine.h"
#include "lab/timing.h"

namespace jumok {

struct BenchAdditiveOptions {
  std::vector<int> widths = {256, 512, 1024};      // d = d_k = d_v, one head
  std::vector<int> lengths = {50, 100, 200, 400};  // T = S
  int threads = 1;                                 // each with a batch of its own; 0: one a core
  double seconds = 0.1;                            // of each measurement
};

// Processor time of a thread, the mean over the threads.
struct AdditiveRate {
  int width = 0, length = 0, sentences = 0;  // sentences: of a thread's batch
  bool backward = false;                     // false: the forward alone; true: forward and backward
  Spread seconds;                            // of a call
  double ns_per_element = 0;                 // of the B·T·S·d sums q + k
  double against_tanh = 0;                   // ns_per_element / ns_per_tanh
};

struct BenchAdditiveResult {
  MachineRoof roof;
  double ns_per_tanh = 0;  // of a thread, in the first-level cache, all threads at once
  std::vector<AdditiveRate> rates;
};

BenchAdditiveResult bench_additive(const BenchAdditiveOptions& options);

}  // namespace jumok
