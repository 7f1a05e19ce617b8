// The machine's measured limits, which every rate is a fraction of.
#pragma once

#include <string>
#include <vector>

namespace jumok {

struct MachineRoof {
  int threads = 1;
  double fma = 0;         // f32 FLOP/s of all threads together
  double read = 0;        // bytes/s from memory, all threads together
  double exp = 0;         // our exp in the first-level cache, elements/s of all threads together
  std::string processor;  // its name, as the system gives it
};

// Runs the probes for about `seconds` on `threads` threads at once.
MachineRoof measure_machine(int threads, double seconds);

// tanh of f32 numbers in the first-level cache, elements/s of a thread, the mean of `threads` at once.
double measure_tanh(int threads, double seconds);

}  // namespace jumok
