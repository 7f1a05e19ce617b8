#include "data/packed.h"

#include <gtest/gtest.h>

#include <set>

#include "data/parallel_corpus.h"
#include "jumok/error.h"

namespace jumok {
namespace {

using Ids = std::vector<int32_t>;
using Lines = std::vector<std::string>;

constexpr int32_t a = 10, b = 11, c = 12, d = 13, e = 14;

TEST(Packed, DecoderInputsAreTheLabelsShiftedWithoutTheEndSymbol) {
  const std::vector<Ids> targets = {{a, b, c}, {a, b, c, d, e}};
  const auto packed = pack_target(targets);
  EXPECT_EQ(packed.input.ids, (Ids{kStart, a, b, c, kStart, a, b, c, d, e}));
  EXPECT_EQ(packed.labels, (Ids{a, b, c, kEnd, a, b, c, d, e, kEnd}));
  EXPECT_EQ(packed.input.begin, (Ids{0, 4}));
  EXPECT_EQ(packed.input.length, (Ids{4, 6}));
  EXPECT_EQ(packed.input.rows(), 10);
  EXPECT_EQ(packed.input.sentences(), 2);
}

TEST(Packed, PositionsStartAtZeroInEachSentenceWhateverItsNeighbours) {
  const auto both = pack_source(std::vector<Ids>{{a, b}, {c}, {}, {d, e}});
  EXPECT_EQ(both.ids, (Ids{a, b, kEnd, c, kEnd, kEnd, d, e, kEnd}));
  EXPECT_EQ(both.position, (Ids{0, 1, 2, 0, 1, 0, 0, 1, 2}));
  EXPECT_EQ(both.begin, (Ids{0, 3, 5, 6}));
  EXPECT_EQ(both.length, (Ids{3, 2, 1, 3}));
  const auto alone = pack_source(std::vector<Ids>{{a, b}});
  EXPECT_EQ(alone.position, (Ids{0, 1, 2}));
  EXPECT_EQ(pack_source(std::vector<Ids>{}).rows(), 0);
}

TEST(Packed, DropoutKeysFollowTheSentenceNotItsBatch) {
  PackedRows two = pack_source(std::vector<Ids>{{a, b}, {c}});
  two.sentence = {5, 9};
  PackedRows one = pack_source(std::vector<Ids>{{c}});
  one.sentence = {9};
  const auto keys = row_keys(two, 1, 100, Side::kSource);
  ASSERT_EQ(keys.size(), 5u);
  EXPECT_EQ(std::set<uint32_t>(keys.begin(), keys.end()).size(), 5u);
  EXPECT_EQ(row_keys(one, 1, 100, Side::kSource), (std::vector<uint32_t>{keys[3], keys[4]}));
  for (const auto& other :
       {row_keys(two, 2, 100, Side::kSource), row_keys(two, 1, 101, Side::kSource), row_keys(two, 1, 100, Side::kTarget)}) {
    for (size_t i = 0; i < keys.size(); ++i) EXPECT_NE(keys[i], other[i]);
  }
}

class CorpusTest : public testing::Test {
 protected:
  static Subwords chars() { return Subwords::train(Lines{"a b c d e", "aa bb cc dd ee"}, {.kind = SubwordKind::kChar, .vocabulary = 50}); }
  static ParallelCorpus build(const Lines& source, const Lines& target, int max_length = 256, Workers* workers = nullptr) {
    const auto subwords = chars();
    return ParallelCorpus::build({source, target, subwords, subwords}, {.max_length = max_length}, workers);
  }
};

TEST_F(CorpusTest, PairsWithAnEmptyOrOverlongSideAreDroppedTogetherAndCounted) {
  const auto corpus = build({"a", "", "b", "\u3000", "aaaaaa", "c"}, {"b", "b", "", "b", "b", "dd"}, 6);  // "▁aaaaaa" has 7 pieces
  EXPECT_EQ(corpus.counts().read, 6);
  EXPECT_EQ(corpus.counts().kept, 2);
  EXPECT_EQ(corpus.counts().empty, 3);
  EXPECT_EQ(corpus.counts().too_long, 1);
  ASSERT_EQ(corpus.size(), 2);
  EXPECT_EQ(corpus.line(0), 0);
  EXPECT_EQ(corpus.line(1), 5);
  const auto subwords = chars();
  EXPECT_EQ(subwords.decode(corpus.source(1)), "c");
  EXPECT_EQ(subwords.decode(corpus.target(1)), "dd");
  EXPECT_EQ(corpus.source_lengths(), (Ids{2, 2}));
  EXPECT_EQ(corpus.target_lengths(), (Ids{2, 3}));
}

TEST_F(CorpusTest, ThreadsAndWindowsChangeNothing) {
  Lines source, target;
  for (int i = 0; i < 40000; ++i) {  // more than one window of blocks
    source.push_back(std::string(static_cast<size_t>(1 + i % 5), "abcde"[i % 5]));
    target.push_back(i % 97 == 0 ? "" : std::string(static_cast<size_t>(1 + i % 3), "edcba"[i % 5]));
  }
  Workers three(3);
  const auto alone = build(source, target), shared = build(source, target, 256, &three);
  EXPECT_EQ(alone.size(), 40000 - 413);  // 0, 97, …, 39964
  EXPECT_EQ(alone.fingerprint(), shared.fingerprint());
  const auto subwords = chars();
  for (const int i : {0, 1, 16383, 16384, 30000, alone.size() - 1}) {
    EXPECT_EQ(subwords.decode(alone.source(i)), source[static_cast<size_t>(alone.line(i))]);
    EXPECT_EQ(subwords.decode(shared.target(i)), target[static_cast<size_t>(shared.line(i))]);
  }
}

TEST_F(CorpusTest, TheFingerprintSeesEveryChange) {
  const auto base = build({"ab", "c"}, {"d", "e"}).fingerprint();
  EXPECT_EQ(build({"ab", "c"}, {"d", "e"}).fingerprint(), base);
  for (const auto& other : {build({"ab", "d"}, {"d", "e"}), build({"ab", "c"}, {"d", "d"}), build({"c", "ab"}, {"e", "d"}),
                            build({"d", "e"}, {"ab", "c"}), build({"ab"}, {"d"}), build({"a", "bc"}, {"d", "e"})}) {
    EXPECT_NE(other.fingerprint(), base);
  }
}

TEST_F(CorpusTest, TheFingerprintSeesWhereSentencesEnd) {
  const Lines target = {"d", "e"};
  const auto early = build({"a", "b c"}, target), late = build({"a b", "c"}, target);  // the same ids in a row
  EXPECT_NE(early.fingerprint(), late.fingerprint());
}

TEST_F(CorpusTest, PackedFromTheCorpusByNumber) {
  const auto corpus = build({"a", "bb", "c"}, {"e", "d", "aa"});
  const Ids pick = {2, 0};
  const auto source = pack_source(corpus, pick);
  const auto target = pack_target(corpus, pick);
  EXPECT_EQ(source.sentence, (std::vector<uint64_t>{2, 0}));
  EXPECT_EQ(source.length, (Ids{3, 3}));
  EXPECT_EQ(target.input.sentence, (std::vector<uint64_t>{2, 0}));
  EXPECT_EQ(target.input.length, (Ids{4, 3}));
  EXPECT_EQ(source.ids[2], kEnd);
  EXPECT_EQ(target.input.ids[0], kStart);
  EXPECT_EQ(target.labels[3], kEnd);
  EXPECT_EQ(chars().decode(target.labels), "aa e");
}

TEST_F(CorpusTest, OneTextHasEmptySources) {
  const auto subwords = chars();
  const Lines lines = {"ab", "", "c"};
  const auto corpus = ParallelCorpus::build_text(lines, subwords);
  EXPECT_EQ(corpus.size(), 2);
  EXPECT_EQ(corpus.counts().empty, 1);
  EXPECT_TRUE(corpus.source(0).empty());
  EXPECT_EQ(subwords.decode(corpus.target(1)), "c");
}

TEST_F(CorpusTest, ALongTextIsCutIntoPiecesOfWhichNoneIsLost) {
  const auto subwords = chars();
  const Lines lines = {"abcde", "", "ab", "abc", "abcd"};  // 6, 0, 3, 4 and 5 symbols with the leading "▁"
  const auto corpus = ParallelCorpus::build_text(lines, subwords, {4, true});
  const auto whole = ParallelCorpus::build_text(lines, subwords, {100});
  EXPECT_EQ(corpus.target_lengths(), (std::vector<int32_t>{4, 2, 3, 4, 4, 1}));
  EXPECT_EQ(corpus.counts().cut, 2);
  EXPECT_EQ(corpus.counts().kept, 6);
  EXPECT_EQ(corpus.counts().empty, 1);
  EXPECT_EQ(corpus.counts().too_long, 0);
  EXPECT_EQ(corpus.line(1), 0);
  EXPECT_EQ(corpus.line(5), 4);
  std::vector<int32_t> pieces, all;
  for (int i = 0; i < corpus.size(); ++i) pieces.insert(pieces.end(), corpus.target(i).begin(), corpus.target(i).end());
  for (int i = 0; i < whole.size(); ++i) all.insert(all.end(), whole.target(i).begin(), whole.target(i).end());
  EXPECT_EQ(pieces, all);
  EXPECT_EQ(ParallelCorpus::build_text(lines, subwords, {4}).counts().too_long, 2);
}

TEST_F(CorpusTest, UnequalSidesAreRefused) {
  EXPECT_THROW(build({"a"}, {"a", "b"}), Error);
  EXPECT_THROW(build({"a"}, {"a"}, 0), Error);
  EXPECT_EQ(build({}, {}).size(), 0);
}

TEST(ParallelCorpus, LongerLengthsAreThoseOfEachPairsLongerSide) {
  const std::vector<std::vector<int32_t>> sources = {{3, 4, 5}, {3}}, targets = {{6}, {6, 7}};
  EXPECT_EQ(ParallelCorpus::from_symbols(sources, targets).longer_lengths(), (std::vector<int32_t>{3, 2}));
}

}  // namespace
}  // namespace jumok
