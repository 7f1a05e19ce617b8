// Python's str methods over code points, where they differ from unicode.h: sacreBLEU's tokenizers are defined by them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jumok::python {

// str.isspace: Unicode's White_Space and the separators U+001C to U+001F. What str.split() splits at.
bool is_space(char32_t c);

// str.lower(): Unicode's full mapping, with "İ" as two code points and "Σ" as "ς" at the end of a word.
std::u32string lower(std::u32string_view text);

// str.strip(), str.rstrip() and str.split(). The views point into `text`.
std::u32string_view strip(std::u32string_view text);
std::u32string_view strip_end(std::u32string_view text);
std::vector<std::u32string_view> split(std::u32string_view text);

// regex's \p{N}: the digits of every script, and Ⅷ, ½, ², ①.
bool is_number(char32_t c);

}  // namespace jumok::python
