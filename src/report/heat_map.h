// A matrix of attention weights as a picture: target words down, source words across, the weight as depth of one colour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace jumok {

struct HeatMap {
  std::vector<std::string> rows;     // T target words (queries), from the top
  std::vector<std::string> columns;  // S source words (keys), from the left
  std::vector<float>
      weights;  // [T, S], row-major; from 0 to 1. A number outside is drawn at the end of the scale, its tooltip tells it; NaN is hatched
  std::string title;    // above the picture and read out by screen readers; may be empty
  int64_t marked = -1;  // a row to frame; -1: none
};

// One complete <svg> element. Every cell has a tooltip "row ← column: weight"; the scale (0 pale to 1 dark blue,
// the shade growing as weight^0.7 so that small weights are told apart) is drawn below the map.
// The picture carries its colours, for light and dark screens and for paper.
// Throws Error where weights are not T × S.
std::string heat_map_svg(const HeatMap& map);

}  // namespace jumok
