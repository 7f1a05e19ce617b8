// Times and what they follow: the median of repeated runs, and the power law through several of them.
#pragma once

#include <functional>
#include <vector>

namespace jumok {

// Processor seconds that the calling thread has had: what other programs take of the machine meanwhile does not count.
double thread_seconds();

// Median of the processor seconds of one call of `work`, which is repeated for about `budget` seconds, three times at least, after one call
// of warm-up. All of the work must be done by the calling thread.
double median_seconds(const std::function<void()>& work, double budget);

// y = factor · x^exponent, the line of least squares through (log x, log y). x and y above 0, two different x at least, else exponent NaN.
struct PowerLaw {
  double exponent = 0, factor = 0;
};
PowerLaw fit_power(const std::vector<double>& x, const std::vector<double>& y);

// Of rising sizes the upper `count`: where the term that grows fastest has taken over.
std::vector<double> upper(const std::vector<double>& values, size_t count);

// y = base + slope · x by least squares.
struct Line {
  double base = 0, slope = 0;
};
Line fit_line(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace jumok
