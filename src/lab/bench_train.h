// jumok bench train: how fast a preset trains, against the machine's roof, and where the time goes.
#pragma once

#include <string>
#include <vector>

#include "lab/machine.h"
#include "lab/timing.h"

namespace jumok {

struct BenchTrainOptions {
  std::string preset = "transformer-tiny";
  std::vector<std::string> settings;  // key=value, over the preset's
  int vocabulary = 8000;              // joint
  int threads = 0;                    // 0: one a core
  int updates = 10;                   // measured, after two of warm-up
  // Sentences' target lengths are drawn evenly from here, end symbol not counted; sources alike. The defaults give Multi30k's mean of 14.9.
  int shortest = 7, longest = 22;
};

// Where the time of an update goes: by the wall clock, each thread's time shared out among the threads.
struct PartTime {
  std::string name;
  double seconds = 0;       // mean of the measured updates
  double roof_seconds = 0;  // of its work at the machine's limits; 0: not known
};

struct BenchTrainResult {
  MachineRoof roof;
  int64_t parameters = 0, product_weights = 0;
  int64_t tokens_per_update = 0;      // real target symbols
  double flop_per_token = 0;          // 6 × the weights that take part in products
  Spread seconds, tokens_per_second;  // of an update
  double fraction_of_peak = 0;        // median rate × FLOP a token / measured FMA peak
  std::vector<PartTime> parts;        // their seconds are those of an update
  int64_t arena_bytes = 0;            // largest activation memory, all workers
};

BenchTrainResult bench_train(const BenchTrainOptions& options);

}  // namespace jumok
