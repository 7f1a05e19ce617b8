// jumok bench attention, for bench.cc to register.
#pragma once

#include "commands.h"

namespace jumok {

void add_attention_benchmark(CLI::App& bench, Command& command);

}  // namespace jumok
