// jumok bench translate: greedy decoding speed of a preset with random parameters.
#pragma once

#include <string>
#include <vector>

#include "lab/machine.h"
#include "lab/timing.h"

namespace jumok {

struct BenchTranslateOptions {
  std::string preset = "transformer-base";
  std::vector<std::string> settings;
  int vocabulary = 8000;
  int threads = 1;         // each takes whole batches; 0: one a core
  int sentences = 32;      // of a batch
  int source_length = 15;  // symbols, end symbol not counted
  int target_length = 20;  // steps of every sentence: nothing ends earlier
  int batches = 4;         // measured for each thread, after one of warm-up
};

struct BenchTranslateResult {
  MachineRoof roof;
  int64_t parameters = 0;
  Spread seconds;            // of a round: every thread's batch
  Spread tokens_per_second;  // target symbols, all threads together, over the rounds
};

BenchTranslateResult bench_translate(const BenchTranslateOptions& options);

}  // namespace jumok
