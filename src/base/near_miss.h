// What somebody probably meant: the known word nearest to one that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jumok {

// Fewest changes (a letter put in, left out or replaced, two neighbours swapped) that make b of a: the optimal string alignment distance.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate with the smallest distance to `text`, the first of equals; empty when there is none.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace jumok
