// chrF (Popović 2015) and chrF++ (Popović 2017) as sacreBLEU 2 computes them.
#pragma once

#include <jumok/metrics.h>

#include <string_view>
#include <vector>

#include "metrics/ngrams.h"

namespace jumok::metrics {

// Sums over sentence pairs, of which chrF is a function.
class ChrfStatistics {
 public:
  // Error for options out of range.
  explicit ChrfStatistics(const MetricOptions& options);

  void add(std::string_view hypothesis, std::string_view reference);
  ChrfScore score() const;

 private:
  double f_score() const;

  MetricOptions options_;
  std::vector<NgramMatches> counts_;  // [char_order + word_order]
};

}  // namespace jumok::metrics
