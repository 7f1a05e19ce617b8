// What a model directory holds, for display and for telling its kind.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/model_files.h"

namespace jumok {

// (name, value) in reading order: architecture, size, vocabulary, settings, training text.
std::vector<std::pair<std::string, std::string>> model_facts(const LoadedModel& model);

}  // namespace jumok
