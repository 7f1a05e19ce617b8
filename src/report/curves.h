// Line charts: values over updates, time, length, width.
#pragma once

#include <string>
#include <vector>

namespace jumok {

struct Series {
  std::string name;
  std::vector<double> x, y;  // of one length, x rising; a value that is not finite interrupts the line
};

struct CurveAxes {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;  // logarithmic; values of 0 and below are then left out; few values of x have ticks of their own
  bool y_from_zero = false;           // the y axis starts at 0 even where the values lie far from it
};

// One complete <svg> element: ticks at round numbers, lines told apart by colour and dash, a name and the last value at the end of each
// line. Throws Error where x and y of a series differ in length.
std::string curves_svg(const CurveAxes& axes, const std::vector<Series>& series);

// Plain linear axes.
std::string curves_svg(const std::string& title, const std::string& x_label, const std::string& y_label, const std::vector<Series>& series);

}  // namespace jumok
