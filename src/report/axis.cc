#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/svg.h"

namespace jumok {
namespace {

double round_step(double rough) {
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

void linear_ticks(Axis& axis, const AxisOptions& options) {
  if (options.from_zero) axis.low = std::min(axis.low, 0.0), axis.high = std::max(axis.high, 0.0);
  if (axis.high - axis.low <= std::abs(axis.high) * 1e-12) {  // a single value
    const double around = axis.high == 0 ? 1 : std::abs(axis.high) * 0.1;
    if (!options.from_zero) axis.low -= around;
    axis.high += around;
  }
  const double step = round_step((axis.high - axis.low) / options.ticks);
  const double first = options.widen ? std::floor(axis.low / step + 1e-9) : std::ceil(axis.low / step - 1e-9);
  const double last = options.widen ? std::ceil(axis.high / step - 1e-9) : std::floor(axis.high / step + 1e-9);
  for (double i = first; i <= last; ++i) axis.ticks.push_back(i == 0 ? 0 : i * step);
  if (options.widen) axis.low = first * step, axis.high = last * step;
}

void logarithmic_ticks(Axis& axis, const AxisOptions& options) {
  if (axis.high <= axis.low * 1.0001) axis.low /= 2, axis.high *= 2;
  const bool few = std::log10(axis.high / axis.low) < 3;
  for (double decade = std::floor(std::log10(axis.low)); decade <= std::ceil(std::log10(axis.high)); ++decade) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10, decade);
      if ((few || factor == 1) && tick >= axis.low * 0.9999 && tick <= axis.high * 1.0001) axis.ticks.push_back(tick);
    }
  }
  const auto most = static_cast<size_t>(options.ticks) * 2;
  for (size_t stride = axis.ticks.size() / most + 1, i = 0; stride > 1 && i < axis.ticks.size(); ++i) {
    axis.ticks.erase(axis.ticks.begin() + static_cast<long>(i) + 1,
                     axis.ticks.begin() + static_cast<long>(std::min(i + stride, axis.ticks.size())));
  }
}

}  // namespace

bool Axis::shows(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }

double Axis::place(double value) const { return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low); }

std::string Axis::label(double tick) const {
  const double largest = std::max(std::abs(low), std::abs(high));
  if (logarithmic || ticks.size() < 2 || largest < 1e-3 || largest >= 1e15) return short_number(tick, 6);
  const auto [unit, sign] = largest >= 1e9   ? std::pair{1e9, "G"}
                            : largest >= 1e6 ? std::pair{1e6, "M"}
                            : largest >= 1e4 ? std::pair{1e3, "k"}
                                             : std::pair{1.0, ""};
  // Digits down to the distance of neighbours: 4.95, 5.00, 5.05.
  const double step = (ticks[1] - ticks[0]) / unit;
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  return tick == 0 ? "0" : fmt::format("{:.{}f}{}", tick / unit, digits, sign);
}

Axis make_axis(const std::vector<double>& values, const AxisOptions& options) {
  Axis axis;
  axis.logarithmic = options.logarithmic;
  bool any = false;
  for (const double value : values) {
    if (!axis.shows(value)) continue;
    axis.low = any ? std::min(axis.low, value) : value;
    axis.high = any ? std::max(axis.high, value) : value;
    any = true;
  }
  if (!any && options.logarithmic) axis.low = 0.1;
  options.logarithmic ? logarithmic_ticks(axis, options) : linear_ticks(axis, options);
  return axis;
}

}  // namespace jumok
