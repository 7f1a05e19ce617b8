// Binary gettext catalogues (.mo), as the gettext manual describes them ("The Format of GNU MO Files").
#pragma once

#include <string>
#include <string_view>

#include "corpus/catalogue.h"

namespace jumok {

// Reads the bytes of a .mo file of either byte order, versions 0.x and 1.x (system-dependent strings of 0.1 are left out: their text is not
// fixed in the file). Every offset is checked; a file that is cut short, or whose tables point outside, throws Error that starts with
// `name`.
Catalogue read_mo(std::string_view bytes, const std::string& name);

}  // namespace jumok
