// Text that was damaged by wrong conversions.
#pragma once

#include <string_view>

namespace jumok {

// Whether the text holds invalid UTF-8, U+FFFD, control characters other than white space, private-use code points, or UTF-8 that was read
// as Latin-1 or Windows-1252 once too often ("Ã¤" for "ä", "â€™" for "’").
bool has_encoding_fault(std::string_view text);

}  // namespace jumok
