// Symmetrised word alignments: two directed ones, each better at one side, made one.
//
// Grow-diag-final-and (Koehn, Axelrod, Mayne, Callison-Burch, Osborne, Talbot 2005, "Edinburgh System Description for the 2005 IWSLT
// Speech Translation Evaluation"), in the order in which Moses' symal goes through the points, which matters to the result:
//   start      links of both directions;
//   grow-diag  again and again in order of (target, source), until nothing changes: each of the eight neighbours of a link (first beside,
//              then across) that is in either direction and has a word without link is added, and counts at once;
//   final-and  in order of (target, source): links of the forward direction, then those of the backward one, both of whose words have
//              no link.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/error.h"
#include "jumok/aligner.h"

namespace jumok {
namespace {

struct Point {
  int target, source;
  auto operator<=>(const Point&) const = default;
};
using Points = std::set<Point>;

constexpr std::array<Point, 8> kNeighbours = {{{-1, 0}, {0, -1}, {1, 0}, {0, 1}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}}};

Points points_of(const WordLinks& links) {
  Points points;
  for (const auto& [source, target] : links) points.insert({target, source});
  return points;
}

WordLinks links_of(const Points& points) {
  WordLinks links;
  for (const Point& p : points) links.push_back({p.source, p.target});
  std::sort(links.begin(), links.end());
  return links;
}

Points intersection(const Points& a, const Points& b) {
  Points both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

// The links chosen so far, and the words they cover.
class Chosen {
 public:
  explicit Chosen(const Points& points) {
    for (const Point& p : points) add(p);
  }
  void add(const Point& p) {
    points_.insert(p);
    sources_.insert(p.source);
    targets_.insert(p.target);
  }
  bool covers_both(const Point& p) const { return sources_.contains(p.source) && targets_.contains(p.target); }
  bool covers_none(const Point& p) const { return !sources_.contains(p.source) && !targets_.contains(p.target); }
  const Points& points() const { return points_; }

 private:
  Points points_;
  std::set<int> sources_, targets_;
};

// One round. A set's iterators stay good when it grows, so a link added further on is met in the same round.
bool grow(Chosen& chosen, const Points& forward, const Points& backward) {
  bool added = false;
  for (auto at = chosen.points().begin(); at != chosen.points().end(); ++at) {
    for (const Point& step : kNeighbours) {
      const Point p{at->target + step.target, at->source + step.source};
      if ((!forward.contains(p) && !backward.contains(p)) || chosen.covers_both(p)) continue;
      chosen.add(p);
      added = true;
    }
  }
  return added;
}

Points grow_diag_final_and(const Points& forward, const Points& backward) {
  Chosen chosen(intersection(forward, backward));
  while (grow(chosen, forward, backward)) {
  }
  for (const Points* direction : {&forward, &backward}) {
    for (const Point& p : *direction) {
      if (chosen.covers_none(p)) chosen.add(p);
    }
  }
  return chosen.points();
}

}  // namespace

WordLinks symmetrise(const WordLinks& forward, const WordLinks& backward, Symmetrisation how) {
  const Points f = points_of(forward), b = points_of(backward);
  switch (how) {
    case Symmetrisation::kIntersection:
      return links_of(intersection(f, b));
    case Symmetrisation::kUnion: {
      Points either = f;
      either.insert(b.begin(), b.end());
      return links_of(either);
    }
    case Symmetrisation::kGrowDiagFinalAnd:
      return links_of(grow_diag_final_and(f, b));
  }
  fail("symmetrisation {}: expected one of the enumeration", static_cast<int>(how));
}

}  // namespace jumok
