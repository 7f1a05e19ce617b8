#include "lab/machine.h"

#include <fstream>
#include <numeric>

#include "base/workers.h"
#include "kernels/probe.h"

namespace jumok {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

MachineRoof measure_machine(int threads, double seconds) {
  MachineRoof roof;
  roof.threads = threads;
  roof.processor = processor_name();
  Workers workers(threads);
  const auto together = [&](double (*probe)(double)) {
    std::vector<double> rates(threads);
    workers.run(threads, [&](int i, int) { rates[i] = probe(seconds / 3); });
    return std::accumulate(rates.begin(), rates.end(), 0.0);
  };
  roof.fma = together(kernels::probe_fma);
  roof.read = together(kernels::probe_read);
  roof.exp = together(kernels::probe_exp);
  return roof;
}

double measure_tanh(int threads, double seconds) {
  Workers workers(threads);
  std::vector<double> rates(threads);
  workers.run(threads, [&](int i, int) { rates[i] = kernels::probe_tanh(seconds); });
  return std::accumulate(rates.begin(), rates.end(), 0.0) / threads;
}

}  // namespace jumok
