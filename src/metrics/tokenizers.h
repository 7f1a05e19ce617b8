// sacreBLEU's tokenizers, rule by rule. They are defined as chains of regular-expression substitutions over code points; each substitution
// is written out here as a loop, because its left-to-right, non-overlapping matching is part of the definition.
#pragma once

#include <jumok/metrics.h>

#include <string>
#include <string_view>

namespace jumok::metrics {

// sacreBLEU's name of the tokenizer, as in its signature.
std::string_view name_of(Tokenizer tokenizer);

// The line with white space between its words (still to be split). White space at the end of the line is dropped first, as sacreBLEU does.
std::u32string tokenize(std::u32string_view line, Tokenizer tokenizer);

}  // namespace jumok::metrics
