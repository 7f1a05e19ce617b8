#include "lab/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "lab/machine.h"

namespace jumok {

double median_seconds(const std::function<void()>& work, double budget) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  work();
  std::vector<double> seconds;
  for (const auto begin = Clock::now(); seconds.size() < 3 || since(begin) < budget;) {
    const auto start = Clock::now();
    work();
    seconds.push_back(since(start));
  }
  return spread_of(seconds).median;
}

Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i) sx += x[i], sy += y[i];
  for (size_t i = 0; i < x.size(); ++i) sxx += (x[i] - sx / n) * (x[i] - sx / n), sxy += (x[i] - sx / n) * (y[i] - sy / n);
  const double slope = sxy / sxx;  // NaN where all x are one
  return {sy / n - slope * sx / n, slope};
}

PowerLaw fit_power(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> lx, ly;
  for (size_t i = 0; i < x.size(); ++i) lx.push_back(std::log(x[i])), ly.push_back(std::log(y[i]));
  const Line line = fit_line(lx, ly);
  return {line.slope, std::exp(line.base)};
}

std::vector<double> upper(const std::vector<double>& values, size_t count) {
  return {values.end() - static_cast<long>(std::min(count, values.size())), values.end()};
}

}  // namespace jumok
