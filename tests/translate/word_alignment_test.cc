// From symbol weights to word links, on weights set by hand.
#include "translate/word_alignment.h"

#include <gtest/gtest.h>

#include "jumok/error.h"

namespace jumok {
namespace {

using Links = std::vector<AlignmentLink>;

// Source "the cats" as ▁the ▁cat s, target "les chats" as ▁le s ▁chat s; weight 0.8 on the links 0-0 0-1 1-2 2-3, the rest on the end
// symbol.
SymbolWeights les_chats() {
  return {5, 4, {0.8f, 0,    0,    0.2f,  //
                 0.8f, 0,    0,    0.2f,  //
                 0,    0.8f, 0,    0.2f,  //
                 0,    0,    0.8f, 0.2f,  //
                 0,    0,    0,    1}};
}

TEST(WordAlignment, LinksAreBetweenWordsNotPiecesSortedWithoutRepeats) {
  const Alignment a = word_alignment(les_chats(), std::vector<int32_t>{0, 1, 1}, std::vector<int32_t>{0, 0, 1, 1}, "the cats", "les chats");
  EXPECT_EQ(a.links, (Links{{0, 0}, {1, 1}}));
  EXPECT_EQ(a.source_words, (std::vector<std::string>{"the", "cats"}));
  EXPECT_EQ(a.target_words, (std::vector<std::string>{"les", "chats"}));
}

TEST(WordAlignment, WeightsAreSummedOverSourcePiecesAndAveragedOverTargetPieces) {
  SymbolWeights w = les_chats();
  w.weights[2 * 4 + 2] = 0.1f;  // "▁chat" to "s": both pieces of "cats" count
  const Alignment a = word_alignment(w, std::vector<int32_t>{0, 1, 1}, std::vector<int32_t>{0, 0, 1, 1}, "the cats", "les chats");
  const std::vector<float> expected = {0.8f, 0, 0, (0.8f + 0.1f + 0.8f) / 2};
  ASSERT_EQ(a.weights.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(a.weights[i], expected[i], 1e-6) << i;
}

TEST(WordAlignment, TheMatrixHasAColumnASourceWordAndARowATargetWordWithoutEndSymbols) {
  const SymbolWeights w{4, 3, {0.5f, 0.3f, 0.2f, 0.1f, 0.7f, 0.2f, 0.6f, 0.3f, 0.1f, 0, 0, 1}};
  const Alignment a = word_alignment(w, std::vector<int32_t>{0, 1}, std::vector<int32_t>{0, 1, 2}, "a b", "x y z");
  EXPECT_EQ(a.weights, (std::vector<float>{0.5f, 0.3f, 0.1f, 0.7f, 0.6f, 0.3f}));
  EXPECT_EQ(a.links, (Links{{0, 0}, {0, 2}, {1, 1}}));
  for (const auto& [source, target] : a.links) EXPECT_TRUE(source < 2 && target < 3);
}

TEST(WordAlignment, TheEndSymbolTakesNoLinkHoweverMuchOfTheWeightItHolds) {
  const SymbolWeights w{2, 3, {0.15f, 0.25f, 0.60f, 0, 0, 1}};
  const Alignment a = word_alignment(w, std::vector<int32_t>{0, 1}, std::vector<int32_t>{0}, "a b", "x");
  EXPECT_EQ(a.links, (Links{{1, 0}}));
  EXPECT_EQ(a.weights, (std::vector<float>{0.15f, 0.25f}));  // not renormalised: what is missing to 1 went to the end symbol
}

TEST(WordAlignment, PairsAreSourceThenTarget) {
  const SymbolWeights w{3, 3, {0.1f, 0.9f, 0, 0.9f, 0.1f, 0, 0, 0, 1}};  // "B" from b, "A" from a
  const Alignment a = word_alignment(w, std::vector<int32_t>{0, 1}, std::vector<int32_t>{0, 1}, "a b", "B A");
  EXPECT_EQ(a.links, (Links{{0, 1}, {1, 0}}));
}

// A line of 65 535 symbols, which a recurrent model takes, would have 17 GB of weights. 16383² with end symbols: 2^28 numbers of 4 bytes.
TEST(WordAlignment, TheWeightsOfALongPairStayBelowOneGigabyte) {
  EXPECT_EQ(longest_aligned(1), 16383);
  EXPECT_EQ(longest_aligned(4), 8191);
  EXPECT_EQ(longest_aligned(0), 16383);
  for (const int matrices : {3, 144, 8192}) {
    const int64_t side = longest_aligned(matrices) + 1;
    EXPECT_LE(side * side * matrices, int64_t{1} << 28) << matrices;
    EXPECT_GT((side + 1) * (side + 1) * matrices, int64_t{1} << 28) << matrices;
  }
}

// With --max-length a translation may have any number of symbols, not only twice those of its source.
TEST(WordAlignment, ALongTargetOfAShortSourceStaysBelowOneGigabyteToo) {
  EXPECT_EQ(longest_aligned_target(1, 16383), 16383);
  EXPECT_EQ(longest_aligned_target(2, 1023), (1 << 17) - 1);
  EXPECT_EQ(longest_aligned_target(1, size_t{1} << 30), 0);
  EXPECT_GE(longest_aligned_target(2, static_cast<size_t>(longest_aligned(4))), 2 * longest_aligned(4));
}

TEST(WordAlignment, TheAttentionIsTheLastButOneUnlessANumberIsGiven) {
  EXPECT_EQ(alignment_layer(-1, 6), 4);
  EXPECT_EQ(alignment_layer(-1, 2), 0);
  EXPECT_EQ(alignment_layer(-1, 1), 0);  // the only one
  EXPECT_EQ(alignment_layer(5, 6), 5);
  EXPECT_EQ(alignment_layer(0, 6), 0);
  for (const int wrong : {-2, 6}) EXPECT_THROW(alignment_layer(wrong, 6), Error) << wrong;
}

TEST(WordAlignment, EmptySentencesAndSymbolsOfNoWordGiveNoLinks) {
  EXPECT_TRUE(word_alignment({1, 1, {1}}, {}, {}, "", "").links.empty());
  const Alignment a = word_alignment({2, 2, {0.9f, 0.1f, 0, 1}}, std::vector<int32_t>{-1}, std::vector<int32_t>{0}, "a", "x");
  EXPECT_TRUE(a.links.empty()) << "the only weight belongs to a symbol of no word";
  EXPECT_TRUE(word_alignment({2, 1, {1, 1}}, {}, std::vector<int32_t>{0}, "", "x").links.empty());
}

TEST(WordAlignment, OfEqualWeightsTheFirstWordIsTaken) {
  const Alignment a = word_alignment({2, 3, {0.4f, 0.4f, 0.2f, 0, 0, 1}}, std::vector<int32_t>{0, 1}, std::vector<int32_t>{0}, "a b", "x");
  EXPECT_EQ(a.links, (Links{{0, 0}}));
}

TEST(WordAlignment, BestLinksBelowTheThresholdAreLeftOut) {
  const SymbolWeights w{3, 3, {0.7f, 0.2f, 0.1f, 0.3f, 0.25f, 0.45f, 0, 0, 1}};
  const auto links = [&](double threshold) {
    return word_alignment(w, std::vector<int32_t>{0, 1}, std::vector<int32_t>{0, 1}, "a b", "x y", {LinkRule::kBest, threshold}).links;
  };
  EXPECT_EQ(links(0), (Links{{0, 0}, {0, 1}}));
  EXPECT_EQ(links(0.5), (Links{{0, 0}}));
  EXPECT_EQ(links(0.7), (Links{{0, 0}})) << "a weight equal to the threshold reaches it";
  EXPECT_EQ(links(0.75), Links{});
}

TEST(WordAlignment, WithAThresholdAWordMayHaveSeveralLinksOrNone) {
  const SymbolWeights w{4, 4, {0.4f, 0.4f, 0, 0.2f, 0, 0.1f, 0.1f, 0.8f, 0, 0, 0.9f, 0.1f, 0, 0, 0, 1}};
  const std::vector<int32_t> word = {0, 1, 2};
  EXPECT_EQ(word_alignment(w, word, word, "a b c", "x y z", {LinkRule::kThreshold, 0.2}).links, (Links{{0, 0}, {1, 0}, {2, 2}}));
  EXPECT_EQ(word_alignment(w, word, word, "a b c", "x y z", {LinkRule::kThreshold, 0}).links,
            (Links{{0, 0}, {1, 0}, {1, 1}, {2, 1}, {2, 2}}))
      << "no weight, no link";
}

// Heads are weights[0] and [1] of the only sentence; rows are x, y, end symbol.
TEST(WordAlignment, OneHeadOrTheMeanAtTheStepThatProducedOrReadASymbol) {
  const AttentionMaps::Map map{"layer", 2, {{0.1f, 0.9f, 0.3f, 0.7f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.9f, 0.1f, 0.7f, 0.3f}}};
  EXPECT_EQ(symbol_weights(map, 1, AttentionStep::kOutput, 3, 2).weights, map.weights[1]);
  EXPECT_EQ(symbol_weights(map, 0, AttentionStep::kInput, 3, 2).weights, (std::vector<float>{0.3f, 0.7f, 0.5f, 0.5f, 0, 0}));
  const auto mean = symbol_weights(map, -1, AttentionStep::kInput, 3, 2);
  const std::vector<float> expected = {0.6f, 0.4f, 0.6f, 0.4f, 0, 0};
  ASSERT_EQ(mean.weights.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(mean.weights[i], expected[i]) << i;
}

TEST(WordAlignment, HeadsAreAveraged) {
  const AttentionMaps::Map map{"layer", 2, {{9}, {9}, {0.2f, 0.8f}, {0.6f, 0.4f}}};
  const SymbolWeights mean = mean_over_heads(map, 1, 1, 2);
  EXPECT_FLOAT_EQ(mean.weights[0], 0.4f);
  EXPECT_FLOAT_EQ(mean.weights[1], 0.6f);
}

}  // namespace
}  // namespace jumok
