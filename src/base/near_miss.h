// What somebody probably meant: the known word nearest to one that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jumok {

// Fewest changes (a letter put in, left out or replaced, two neighbours swapped) that make b of a: the optimal string alignment distance.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` is most likely a slip of, the first of equals, or "" when none is near: at most a third of its letters (hyphens
// in front not counted) changed, or the only one that begins with it.
std::string near_miss(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace jumok
