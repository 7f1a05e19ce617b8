#include <jumok/metrics.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace jumok {
namespace {

using Links = std::set<AlignmentLink>;

struct AnnotatedWords {
  std::set<int> source, target;

  explicit AnnotatedWords(const Links& gold) {
    for (const auto& link : gold) source.insert(link.source), target.insert(link.target);
  }

  bool judge(const AlignmentLink& link, JudgedLinks judged) const {
    const bool from = source.contains(link.source), to = target.contains(link.target);
    switch (judged) {
      case JudgedLinks::kEitherAnnotated:
        return from || to;
      case JudgedLinks::kBothAnnotated:
        return from && to;
      case JudgedLinks::kAll:
        break;
    }
    return true;
  }
};

void add_sentence(const std::vector<AlignmentLink>& hypothesis, const GoldAlignment& gold, JudgedLinks judged, AlignmentScore& score) {
  const Links sure(gold.sure.begin(), gold.sure.end());
  Links possible(gold.possible.begin(), gold.possible.end());
  possible.insert(sure.begin(), sure.end());
  const AnnotatedWords words(possible);
  score.sure += static_cast<int64_t>(sure.size());
  for (const auto& link : Links(hypothesis.begin(), hypothesis.end())) {
    if (!words.judge(link, judged)) continue;
    ++score.proposed;
    score.matched_sure += sure.contains(link);
    score.matched_possible += possible.contains(link);
  }
}

// 1 where nothing was asked: no link proposed is no wrong link, no sure link is no missed one.
double fraction(int64_t part, int64_t whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 1.0; }

}  // namespace

AlignmentScore alignment_error_rate(const std::vector<std::vector<AlignmentLink>>& hypotheses, const std::vector<GoldAlignment>& gold,
                                    JudgedLinks judged) {
  check(hypotheses.size() == gold.size(), "alignments: expected as many sentences on both sides, found {} proposed and {} gold",
        hypotheses.size(), gold.size());
  AlignmentScore score;
  for (size_t i = 0; i < gold.size(); ++i) add_sentence(hypotheses[i], gold[i], judged, score);
  score.precision = fraction(score.matched_possible, score.proposed);
  score.recall = fraction(score.matched_sure, score.sure);
  score.error_rate = 1.0 - fraction(score.matched_sure + score.matched_possible, score.proposed + score.sure);
  return score;
}

}  // namespace jumok
