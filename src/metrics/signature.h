// The signature that makes a score comparable: sacreBLEU's keys and values, closed by who computed it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace jumok::metrics {

// "nrefs:1|case:mixed|" + details + "|version:jumok-0.1.0". The version says that jumok computed the score, not sacreBLEU.
std::string signature(bool lowercase, std::string_view details);

// Error with both counts unless they are equal and above 0.
void check_line_counts(size_t hypotheses, size_t references);

}  // namespace jumok::metrics
