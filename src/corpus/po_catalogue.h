// Text gettext catalogues (.po), as the gettext manual describes them ("The Format of PO Files").
#pragma once

#include <string>
#include <string_view>

#include "corpus/catalogue.h"

namespace jumok {

// Reads the bytes of a .po file; LF and CRLF end lines, a byte order mark at the start is skipped. Obsolete entries (#~) and previous texts
// (#|) are left out; fuzzy entries are there, marked. Anything else that is no PO syntax throws Error "name:line: …".
Catalogue read_po(std::string_view bytes, const std::string& name);

}  // namespace jumok
