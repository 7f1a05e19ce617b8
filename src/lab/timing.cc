#include "lab/timing.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "lab/machine.h"

namespace jumok {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median_seconds(const std::function<void()>& work, double budget) {
  work();
  std::vector<double> seconds;
  for (const double begin = thread_seconds(); seconds.size() < 3 || thread_seconds() - begin < budget;) {
    const double start = thread_seconds();
    work();
    seconds.push_back(thread_seconds() - start);
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
