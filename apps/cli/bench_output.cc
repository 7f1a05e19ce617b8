#include "bench_output.h"

#include <fmt/format.h>

namespace jumok {

BenchJson to_json(const Spread& s) {
  return {{"median", s.median}, {"lower", s.lower}, {"upper", s.upper}, {"least", s.least}, {"most", s.most}, {"runs", s.runs}};
}

BenchJson bench_object(const std::string& name, const MachineRoof& roof, BenchJson settings, BenchJson rows) {
  return {{"benchmark", name},
          {"machine",
           {{"processor", roof.processor},
            {"threads", roof.threads},
            {"fma_peak_gflops", roof.fma / 1e9},
            {"read_gb_per_second", roof.read / 1e9},
            {"exp_per_second", roof.exp}}},
          {"settings", std::move(settings)},
          {"rows", std::move(rows)}};
}

BenchJson bench_row(const std::string& name, const Spread& seconds) { return {{"row", name}, {"seconds", to_json(seconds)}}; }

std::string machine_line(const MachineRoof& roof) {
  return fmt::format("{}, {} thread{}: FMA peak {:.0f} GFLOP/s, memory {:.1f} GB/s, exp {:.2f} G/s", roof.processor, roof.threads,
                     roof.threads == 1 ? "" : "s", roof.fma / 1e9, roof.read / 1e9, roof.exp / 1e9);
}

std::string quartile_text(const Spread& s, double scale) {
  return fmt::format("{:.4g} ({:.4g} to {:.4g})", scale * s.median, scale * s.lower, scale * s.upper);
}

}  // namespace jumok
