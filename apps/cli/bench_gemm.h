// jumok bench gemm, for bench.cc to register.
#pragma once

#include "commands.h"

namespace jumok {

void add_gemm_benchmark(CLI::App& bench, Command& command);

}  // namespace jumok
