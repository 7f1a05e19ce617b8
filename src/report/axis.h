// The scale of one side of a chart: its range and its ticks at round numbers.
#pragma once

#include <string>
#include <vector>

namespace jumok {

struct AxisOptions {
  bool logarithmic = false;
  bool from_zero = false;  // linear only
  bool widen = true;       // out to the next tick, so that the range begins and ends at round numbers
  int ticks = 6;           // about so many
};

struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;

  double place(double value) const;      // low → 0, high → 1
  bool shows(double value) const;        // finite, and above 0 where logarithmic
  std::string label(double tick) const;  // as many digits as tell the ticks apart
};

// Around all values it can show; [0, 1] when there is none; a range around a single value.
// Linear ticks are multiples of 1, 2 or 5 · 10^k; logarithmic ones powers of 10, with 2 and 5 between where they are few.
Axis make_axis(const std::vector<double>& values, const AxisOptions& options);

}  // namespace jumok
