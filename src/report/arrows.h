// Vectors of two numbers as arrows from the origin: a plane in which one sees angles and lengths.
#pragma once

#include <string>
#include <vector>

namespace jumok {

struct Arrow {
  std::string name;
  double x = 0, y = 0;
  int group = 0;  // colour and dash, as the series of curves have them; one group is named once in the legend
};

// One complete <svg> element; both axes have the same scale. `groups` are the legend's names of group 0, 1, …; an empty
// one is not named.
std::string arrows_svg(const std::string& title, const std::vector<std::string>& groups, const std::vector<Arrow>& arrows);

}  // namespace jumok
