// The options of a file of true word links, wherever one is read. All go with `gold`, the option that names the file.
#pragma once

#include <jumok/metrics.h>

#include <CLI/CLI.hpp>
#include <string>

namespace jumok {

// --gold-format.
void add_gold_format(CLI::App& sub, GoldFormat& format, CLI::Option* gold);

// Which links count, for gold that leaves words out.
void add_judged_links(CLI::App& sub, const std::string& name, JudgedLinks& judged, CLI::Option* gold);

}  // namespace jumok
