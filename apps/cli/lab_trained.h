// The experiments of `jumok lab` that train models.
#pragma once

#include "commands.h"

namespace jumok {

void add_trained_experiments(CLI::App& lab, Command& command);

}  // namespace jumok
