// Which folder may see what: the layer list of CONTRIBUTING.md in the form the rules test reads.
#pragma once

#include "rules.h"

namespace jumok::rules {

// From the bottom to the top. A folder may name itself, the folders above it in the data flow as listed, the public headers ("jumok") and
// the outside libraries given.
std::vector<Layer> project_layers();

}  // namespace jumok::rules
