#include "lab/timing.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/float_mode.h"
#include "base/workers.h"

namespace jumok {

namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }
double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  if (n == 0) return {};
  return {values[n / 2], values[n / 4], values[(3 * n - 1) / 4], values.front(), values.back(), static_cast<int>(n)};
}

Spread rate_spread(double work, const Spread& s) {
  return {work / s.median, work / s.upper, work / s.lower, work / s.most, work / s.least, s.runs};
}

std::vector<Spread> time_in_turn(const Timing& timing, const std::vector<Work>& pieces) {
  const auto now = [&] { return timing.wall ? wall_seconds() : thread_seconds(); };
  const double round = std::min(0.002, timing.seconds / timing.rounds);
  std::vector<int> repeats;
  std::vector<std::vector<double>> times(pieces.size());
  for (const Work& work : pieces) {
    double last = 0;
    for (int i = 0; i < std::max(1, timing.warm_up); ++i) {
      const double begin = now();
      work();
      last = now() - begin;
    }
    repeats.push_back(std::max(1, static_cast<int>(round / std::max(last, 1e-7))));
  }
  const double end = now() + timing.seconds * static_cast<double>(pieces.size());
  while (!pieces.empty() && (times[0].size() < static_cast<size_t>(timing.rounds) || now() < end)) {
    for (size_t n = 0; n < pieces.size(); ++n) {
      const double begin = now();
      for (int i = 0; i < repeats[n]; ++i) pieces[n]();
      times[n].push_back((now() - begin) / repeats[n]);
    }
  }
  std::vector<Spread> spreads;
  for (auto& t : times) spreads.push_back(spread_of(std::move(t)));
  return spreads;
}

std::vector<Spread> time_side_by_side(int threads, const Timing& timing, const std::function<std::vector<Work>()>& make) {
  std::vector<std::vector<Spread>> all(threads);
  Workers(threads, flush_denormals).run(threads, [&](int i, int) { all[i] = time_in_turn(timing, make()); });
  std::vector<Spread> means(all[0].size());
  for (const auto& spreads : all) {
    for (size_t n = 0; n < means.size(); ++n) {
      for (double Spread::*part : {&Spread::median, &Spread::lower, &Spread::upper, &Spread::least, &Spread::most}) {
        means[n].*part += spreads[n].*part / threads;
      }
      means[n].runs += spreads[n].runs;
    }
  }
  return means;
}

double median_seconds(const Work& work, double budget) { return time_in_turn({budget, 3}, {work})[0].median; }

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
