// jumok bench attention: the kernels of jumok/attention.h under each rule, against the machine's roof and against the plain path.
#pragma once

#include <string>
#include <vector>

#include "lab/machine.h"

namespace jumok {

struct BenchAttentionOptions {
  int heads = 8, width = 64;  // H, d = d_k = d_v
  std::vector<int> lengths = {16, 32, 64, 128, 256, 512, 1024};
  int window = 64;       // keys of a windowed query, both sides together
  int cache = 4096;      // keys of the step
  double seconds = 0.1;  // of each measurement
};

// One rule at one length, forward or backward, on one thread. Seconds are processor time; the rules of a length are measured in turn.
struct AttentionRate {
  std::string rule;  // full, causal, window, mask (three quarters allowed), bias
  bool backward = false;
  int length = 0;               // T = S
  Spread seconds;               // of a call
  double flop = 0;              // 4 d forward, 10 d backward, of each pair that position allows
  double fraction_of_peak = 0;  // flop / median seconds / FMA peak
  double against_full = 0;      // median seconds / those of the full attention of the same length
};

struct BenchAttentionResult {
  MachineRoof roof;  // of one thread
  std::vector<AttentionRate> rates;
  Spread step_bytes_per_second;  // T = 1: the cache is read once
  double step_fraction_of_read = 0;
};

BenchAttentionResult bench_attention(const BenchAttentionOptions& options);

}  // namespace jumok
