// Times and what they follow: the median of repeated runs, and the power law through several of them.
#pragma once

#include <functional>
#include <vector>

namespace jumok {

// Processor seconds that the calling thread has had: what other programs take of the machine meanwhile does not count.
double thread_seconds();
double wall_seconds();  // from an arbitrary moment; never goes back

// Of repeated measurements: the median, the quartiles on both sides of it, the extremes.
struct Spread {
  double median = 0, lower = 0, upper = 0, least = 0, most = 0;
  int runs = 0;
};
Spread spread_of(std::vector<double> values);
// Of a rate, from the spread of the seconds that `work` takes: least and most change places.
Spread rate_spread(double work, const Spread& seconds);

// How work is timed: calls of warm-up, then rounds. A round is as many calls as make up a fair time for the clock.
struct Timing {
  double seconds = 0.1;  // of each piece of work, about
  int rounds = 5;        // at least
  int warm_up = 1;       // calls before the first round, at least one
  bool wall = false;     // by the wall clock, where other threads do part of the work; else processor time of the calling thread
};
using Work = std::function<void()>;

// Seconds of one call of each, measured in turn, so that their ratios come from the same moments.
std::vector<Spread> time_in_turn(const Timing& timing, const std::vector<Work>& pieces);

// The same on `threads` threads at once (as models run: products on one thread each), each timing pieces of its own, which make() makes on
// the thread. Means over the threads.
std::vector<Spread> time_side_by_side(int threads, const Timing& timing, const std::function<std::vector<Work>()>& make);

// Median of the processor seconds of one call of `work`, which is repeated for about `budget` seconds, three times at least, after one call
// of warm-up. All of the work must be done by the calling thread.
double median_seconds(const Work& work, double budget);

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
