// BLEU (Papineni, Roukos, Ward, Zhu 2002, section 2) as sacreBLEU computes it (Post 2018).
#pragma once

#include <jumok/metrics.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "metrics/ngrams.h"

namespace jumok::metrics {

inline constexpr int kBleuOrder = 4;

// Sums over sentence pairs, of which BLEU is a function: it can be fed line by line, and lines of a corpus may arrive in any order.
class BleuStatistics {
 public:
  // Error for options out of range.
  explicit BleuStatistics(const MetricOptions& options, bool effective_order = false);

  void add(std::string_view hypothesis, std::string_view reference);
  BleuScore score() const;

 private:
  double precision(int order, int& without_match) const;
  double geometric_mean(const std::vector<double>& precisions) const;

  MetricOptions options_;
  double smooth_value_ = 0;  // of kFloor and kAddK
  bool effective_order_ = false;
  std::array<NgramMatches, kBleuOrder> counts_{};
};

}  // namespace jumok::metrics
