// The machine's measured limits, which every rate is a fraction of.
#pragma once

#include <string>
#include <vector>

namespace jumok {

struct MachineRoof {
  int threads = 1;
  double fma = 0;         // f32 FLOP/s of all threads together
  double read = 0;        // bytes/s from memory, all threads together
  std::string processor;  // its name, as the system gives it
};

// Runs the probes for about `seconds` on `threads` threads at once.
MachineRoof measure_machine(int threads, double seconds);

// Median and spread of repeated measurements.
struct Spread {
  double median = 0, least = 0, most = 0;
};
Spread spread_of(std::vector<double> values);

}  // namespace jumok
