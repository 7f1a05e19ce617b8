// --gold-format, the form of a file of true word links, wherever one is read.
#pragma once

#include <jumok/metrics.h>

#include <CLI/CLI.hpp>

namespace jumok {

// Adds the option, which goes with `gold`, the option that names the file.
void add_gold_format(CLI::App& sub, GoldFormat& format, CLI::Option* gold);

}  // namespace jumok
