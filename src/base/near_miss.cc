#include "base/near_miss.h"

#include <algorithm>

namespace jumok {

// d[i][j] from the first i letters of a to the first j of b.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const size_t replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string near_miss(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 100;  // nobody's slip of the pen
  if (word.size() > kLongest) return "";
  const size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  std::string best;
  size_t best_distance = std::max<size_t>(1, letters / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  if (!best.empty() || letters < 2) return best;
  const auto begins = [&](const std::string& candidate) { return candidate.starts_with(word); };
  if (std::count_if(candidates.begin(), candidates.end(), begins) == 1) best = *std::find_if(candidates.begin(), candidates.end(), begins);
  return best;
}

}  // namespace jumok
