// Parts of a text that a program replaces or reads, and that a translation must therefore repeat unchanged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace jumok {

struct PlaceholderSpan {
  size_t begin, end;  // bytes [begin, end) of the text
};

// In order, not overlapping: printf and Python formats (%s %1$s %-5.2lf %(name)d %%), Qt (%1 %L1), Ruby (%{name} %<name>s), LibreOffice
// (%PRODUCTNAME $[officename] $(ARG1) $1 #1), braces ({name} {0:d} {} { $size }), shell and Perl ($name ${name}), autoconf (@name@), tags
// and comments
// (<b> </b> <br/>), entities (&amp;), escapes (\n), URLs, and text in `backquotes`. A percent sign before a space ("50% of") is none.
std::vector<PlaceholderSpan> find_placeholders(std::string_view text);

// The placeholders themselves, sorted: equal on both sides of a pair that keeps them.
std::vector<std::string> sorted_placeholders(std::string_view text);

// The text with a space in the place of each placeholder.
std::string without_placeholders(std::string_view text);

}  // namespace jumok
