// What every benchmark says in the same words: the machine, spreads, the JSON object with its rows.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lab/machine.h"
#include "lab/timing.h"

namespace jumok {

using BenchJson = nlohmann::ordered_json;

BenchJson to_json(const Spread& spread);

// {"benchmark", "machine": {…}, "settings", "rows"}; see docs/performance.md. bench/compare.py reads it.
BenchJson bench_object(const std::string& name, const MachineRoof& roof, BenchJson settings, BenchJson rows);
// What every row begins with: its name, which no other row of the object has, and the seconds of a call.
BenchJson bench_row(const std::string& name, const Spread& seconds);

// "AMD EPYC, 2 threads: FMA peak 206 GFLOP/s, memory 30.1 GB/s"
std::string machine_line(const MachineRoof& roof);
// "1.234 (1.200 to 1.300)": median and quartiles, each multiplied by `scale`.
std::string quartile_text(const Spread& spread, double scale);

}  // namespace jumok
