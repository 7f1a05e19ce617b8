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

std::string nearest(std::string_view text, const std::vector<std::string>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(text, a) < edit_distance(text, b);
  });
  return best == candidates.end() ? std::string() : *best;
}

}  // namespace jumok
