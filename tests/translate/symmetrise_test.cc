// Two directed alignments made one: worked out by hand, and as the script data/make_symmetrised.py finds from the published pseudo-code.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "jumok/aligner.h"

namespace jumok {
namespace {

WordLinks grown(const WordLinks& forward, const WordLinks& backward) {
  return symmetrise(forward, backward, Symmetrisation::kGrowDiagFinalAnd);
}

TEST(Symmetrise, IntersectionAndUnionAreSortedWithoutRepeats) {
  const WordLinks forward = {{2, 1}, {0, 0}, {0, 0}}, backward = {{0, 0}, {1, 2}};
  EXPECT_EQ(symmetrise(forward, backward, Symmetrisation::kIntersection), (WordLinks{{0, 0}}));
  EXPECT_EQ(symmetrise(forward, backward, Symmetrisation::kUnion), (WordLinks{{0, 0}, {1, 2}, {2, 1}}));
}

TEST(Symmetrise, NothingGivesNothing) {
  for (const auto how : {Symmetrisation::kIntersection, Symmetrisation::kUnion, Symmetrisation::kGrowDiagFinalAnd}) {
    EXPECT_TRUE(symmetrise({}, {}, how).empty());
  }
}

// 0-0 is of both; 1-1 touches it across its corner and is of one.
TEST(GrowDiagFinalAnd, ALinkAcrossTheCornerIsAdded) { EXPECT_EQ(grown({{0, 0}, {1, 1}}, {{0, 0}}), (WordLinks{{0, 0}, {1, 1}})); }

// 0-0 → 1-1 → 2-2 → 3-3, each the neighbour of the one before, in either order of the scan.
TEST(GrowDiagFinalAnd, GrowthGoesOnFromWhatWasAdded) {
  EXPECT_EQ(grown({{0, 0}, {1, 1}, {2, 2}, {3, 3}}, {{0, 0}}), (WordLinks{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
  EXPECT_EQ(grown({{3, 3}}, {{0, 0}, {1, 1}, {2, 2}, {3, 3}}), (WordLinks{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
}

// 1-0 (beside) comes before 1-1 (across). Were 1-1 first, both words of 1-0 would be covered.
TEST(GrowDiagFinalAnd, NeighboursBesideComeBeforeThoseAcross) {
  EXPECT_EQ(grown({{0, 0}, {1, 1}}, {{0, 0}, {1, 0}}), (WordLinks{{0, 0}, {1, 0}, {1, 1}}));
}

// 1-0 and 0-1 both touch 0-0 and have a free word each; 1-1 then has none.
TEST(GrowDiagFinalAnd, ANeighbourWithoutAFreeWordIsNotAdded) {
  EXPECT_EQ(grown({{0, 0}, {0, 1}, {1, 1}}, {{0, 0}, {1, 0}}), (WordLinks{{0, 0}, {0, 1}, {1, 0}}));
}

// Far from 0-0: 3-3 has two free words, 0-5 only one ("final" without "and" would add it).
TEST(GrowDiagFinalAnd, FarLinksNeedTwoFreeWords) { EXPECT_EQ(grown({{0, 0}, {3, 3}, {0, 5}}, {{0, 0}}), (WordLinks{{0, 0}, {3, 3}})); }

// 3-3 and 3-5 exclude each other: the forward direction's goes first, though the other stands first in the order of (target, source).
TEST(GrowDiagFinalAnd, OfFarLinksTheForwardOnesComeFirst) {
  EXPECT_EQ(grown({{0, 0}, {3, 5}}, {{0, 0}, {3, 3}}), (WordLinks{{0, 0}, {3, 5}}));
  EXPECT_EQ(grown({{0, 0}, {3, 3}}, {{0, 0}, {3, 5}}), (WordLinks{{0, 0}, {3, 3}}));
}

// Within a direction target by target: 5-2 takes word 5 before 5-4 can.
TEST(GrowDiagFinalAnd, WithinADirectionTheLowerTargetComesFirst) { EXPECT_EQ(grown({{5, 4}, {5, 2}}, {}), (WordLinks{{5, 2}})); }

WordLinks links_of(const nlohmann::json& pairs) {
  WordLinks links;
  for (const auto& pair : pairs) links.push_back({pair.at(0), pair.at(1)});
  return links;
}

TEST(Symmetrise, AgreesWithTheScriptOnRandomAlignments) {
  const auto cases = nlohmann::json::parse(std::ifstream(JUMOK_TEST_DATA "/symmetrised.json"));
  ASSERT_EQ(cases.size(), 120u);
  size_t grown_differs = 0;
  for (const auto& c : cases) {
    const auto forward = links_of(c.at("forward")), backward = links_of(c.at("backward"));
    const auto all = grown(forward, backward);
    EXPECT_EQ(symmetrise(forward, backward, Symmetrisation::kIntersection), links_of(c.at("intersection"))) << c;
    EXPECT_EQ(symmetrise(forward, backward, Symmetrisation::kUnion), links_of(c.at("union"))) << c;
    EXPECT_EQ(all, links_of(c.at("grow-diag-final-and"))) << c;
    grown_differs += all != symmetrise(forward, backward, Symmetrisation::kUnion);
  }
  EXPECT_GT(grown_differs, 50u) << "the cases must be able to tell the rules apart";
}

}  // namespace
}  // namespace jumok
