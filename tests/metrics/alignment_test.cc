#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>

#include "jumok/error.h"
#include "jumok/metrics.h"
#include "text/lines.h"

namespace jumok {
namespace {

using Lines = std::vector<std::string>;
using Links = std::vector<AlignmentLink>;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

AlignmentScore score(const Lines& hypothesis, const Lines& gold, JudgedLinks judged = JudgedLinks::kAll) {
  const auto proposed = parse_alignments(hypothesis, "hypothesis");
  return alignment_error_rate(proposed, parse_gold_alignments(gold, "gold", proposed.size()), judged);
}

// A = {00 11 12 23}, S = {00 11 22}, P = S + {12}: |A∩S| = 2, |A∩P| = 3; AER = 1 - 5/7.
TEST(AlignmentErrorRate, EqualsTheHandComputedValues) {
  const auto found = score({"0-0 1-1 1-2 2-3"}, {"0-0 1-1 2-2 1?2"});
  EXPECT_DOUBLE_EQ(found.precision, 3.0 / 4);
  EXPECT_DOUBLE_EQ(found.recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.error_rate, 1 - 5.0 / 7);
}

TEST(AlignmentErrorRate, SumsCountsOverSentencesInsteadOfAveragingRates) {
  const auto found = score({"0-0", "0-0 1-1 1-2 2-3", ""}, {"0-1", "0-0 1-1 2-2 1p2", "3-3"});
  EXPECT_DOUBLE_EQ(found.precision, 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.recall, 2.0 / 5);
  EXPECT_DOUBLE_EQ(found.error_rate, 1 - 5.0 / 10);
}

TEST(AlignmentErrorRate, SureLinksArePossibleAndRepeatedLinksCountOnce) {
  const auto found = score({"0-0 0-0 1-1"}, {"0-0 0?0 0-0 1?1"});
  EXPECT_EQ(found.proposed, 2);
  EXPECT_EQ(found.sure, 1);
  EXPECT_EQ(found.error_rate, 0.0);
}

TEST(AlignmentErrorRate, NothingProposedOrNothingSureGivesNoNan) {
  const auto silent = score({""}, {"0-0"});
  EXPECT_EQ(silent.precision, 1.0);
  EXPECT_EQ(silent.recall, 0.0);
  EXPECT_EQ(silent.error_rate, 1.0);
  EXPECT_EQ(score({""}, {""}).error_rate, 0.0);
  EXPECT_EQ(score({"1-1"}, {""}).error_rate, 1.0);
}

// Words 0 and 1 are annotated on both sides; 5 is not.
TEST(AlignmentErrorRate, PartlyAnnotatedGoldJudgesOnlyItsOwnWords) {
  const Lines hypothesis = {"0-0 0-5 5-5 1-0"}, gold = {"0-0 1?1"};
  EXPECT_EQ(score(hypothesis, gold).proposed, 4);
  EXPECT_EQ(score(hypothesis, gold, JudgedLinks::kEitherAnnotated).proposed, 3);
  EXPECT_EQ(score(hypothesis, gold, JudgedLinks::kBothAnnotated).proposed, 2);
}

TEST(AlignmentErrorRate, UnequalSentenceCountsAreRefusedWithBothCounts) {
  const auto message = message_of([] { alignment_error_rate(std::vector<Links>(3), std::vector<GoldAlignment>(4)); });
  EXPECT_NE(message.find("3 proposed and 4 gold"), std::string::npos) << message;
  EXPECT_EQ(message_of([] {
              parse_gold_alignments({"0-0", "", ""}, "gold", 2);
            }),
            "gold: expected 2 lines, one for each sentence, found 3");
}

// Source "a b", target "B A", links a-A and b-B.
TEST(AlignmentFiles, PairsAreSourceThenTargetFromZeroAndEmptyLinesStay) {
  const auto links = parse_alignments({"0-1 1-0", ""}, "x");
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0], (Links{{0, 1}, {1, 0}}));
  EXPECT_TRUE(links[1].empty());
}

TEST(AlignmentFiles, NaaclFormCountsFromOneAndTakesLinksWithoutLabelAsSure) {
  const auto gold = parse_gold_alignments({"0001 1 2 S", "0001 2 1 P 0.5", "3 1 1", "3 2 2 0.9", ""}, "gold", 4);
  ASSERT_EQ(gold.size(), 4u);
  EXPECT_EQ(gold[0].sure, (Links{{0, 1}}));
  EXPECT_EQ(gold[0].possible, (Links{{1, 0}}));
  EXPECT_TRUE(gold[1].sure.empty() && gold[3].sure.empty());
  EXPECT_EQ(gold[2].sure, (Links{{0, 0}, {1, 1}}));
}

TEST(AlignmentFiles, TheFormOfTheGoldCanBeToldWhereItsFirstLineDoesNotShowIt) {
  // No sentence has a link: a NAACL file is empty then, and a Pharaoh file has empty lines.
  EXPECT_EQ(parse_gold_alignments({}, "gold", 3, {}, GoldFormat::kNaacl).size(), 3u);
  EXPECT_EQ(parse_gold_alignments({"", "", ""}, "gold", 3, {}, GoldFormat::kPharaoh).size(), 3u);
  EXPECT_EQ(message_of([] { parse_gold_alignments({"1 1 1 S"}, "gold", 1, {}, GoldFormat::kPharaoh); }),
            "gold:1: expected links like 0-1, or 0?1 for a possible one, words counted from 0, found '1'");
  EXPECT_EQ(message_of([] { parse_gold_alignments({"0-0"}, "gold", 1, {}, GoldFormat::kNaacl); }),
            "gold:1: expected 'sentence source target [S|P] [confidence]', found '0-0'");
}

TEST(AlignmentFiles, IllFormedLinksNameFileAndLine) {
  for (const std::string bad :
       {"0", "0-", "-1", "0--1", "0-1-2", "a-b", "0 1", "0-1,1-0", "0-99999999999", "0:1", "0x1", "+0-1", "0-1p", "٣-١"}) {
    const auto message = message_of([&] { parse_gold_alignments({"0-0", "1-1 " + bad}, "dev.align", 2); });
    EXPECT_EQ(message.rfind("dev.align:2: expected links like 0-1", 0), 0u) << bad << ": " << message;
  }
  EXPECT_NE(message_of([] { parse_alignments({"0?1"}, "stdin"); }), "") << "a proposed link is never only possible";
}

TEST(AlignmentFiles, IllFormedNaaclLinesNameFileAndLine) {
  for (const std::string bad :
       {"1 1", "1 1 1 Q", "1 1 1 S x", "1 1 1 S 0.5 1", "1-1", "1 1 x", "0 1 1", "3 1 1", "1 0 1", "1 1 0", "1 -1 1"}) {
    const auto message = message_of([&] { parse_gold_alignments({"1 1 1 S", bad}, "wpt.gold", 2); });
    EXPECT_EQ(message.rfind("wpt.gold:2: expected ", 0), 0u) << bad << ": " << message;
  }
}

TEST(AlignmentFiles, LinksBeyondTheSentenceNameFileLineAndLength) {
  const AlignmentLengths lengths{{2, 2}, {3, 3}};
  EXPECT_EQ(message_of([&] {
              parse_alignments({"1-2", "2-0"}, "a", lengths);
            }),
            "a:2: expected a source word from 0 to 1 (the sentence has 2), found 2");
  EXPECT_EQ(message_of([&] {
              parse_gold_alignments({"2 2 3", "2 1 4"}, "b", 2, lengths);
            }),
            "b:2: expected a target word from 1 to 3 (the sentence has 3), found 4");
  EXPECT_EQ(message_of([&] { parse_alignments({"", "", ""}, "c", lengths); }), "c: expected 2 lines, as many as the text has, found 3");
  EXPECT_EQ(message_of([&] {
              parse_alignments({"0-0"}, "d", {{0}, {}});
            }),
            "d:1: expected no links (the source sentence has no words), found 0");
}

// Every published file must be read, with its own text's lengths, and agree with itself.
TEST(AlignmentFiles, PublishedGoldIsReadAndAgreesWithItself) {
  const char* data = std::getenv("JUMOK_DATA");
  if (data == nullptr) GTEST_SKIP() << "JUMOK_DATA names no folder of data sets";
  for (const auto& [stem, source, target, sure] : {std::tuple{"europarl-de-en", "de", "en", 1232},
                                                   {"bible-silver.dev", "kjv", "es", 6133},
                                                   {"bible-silver.test", "kjv", "es", 7056},
                                                   {"pud-en-ko", "en", "ko", -1}}) {
    const auto path = [&](const char* suffix) { return std::string(data) + "/align-gold/" + stem + "." + suffix + ".gz"; };
    AlignmentLengths lengths;
    const auto count = [](const std::string& line) { return static_cast<int>(std::count(line.begin(), line.end(), ' ')) + 1; };
    for (const auto& line : read_lines(path(source))) lengths.source.push_back(count(line));
    for (const auto& line : read_lines(path(target))) lengths.target.push_back(count(line));
    const auto gold = parse_gold_alignments(read_lines(path("align")), stem, lengths.source.size(), lengths);
    std::vector<Links> proposed;
    for (const auto& sentence : gold) proposed.push_back(sentence.sure);
    const auto found = alignment_error_rate(proposed, gold);
    EXPECT_EQ(found.error_rate, 0.0) << stem;
    if (sure >= 0) {
      EXPECT_EQ(found.sure, sure) << stem;
    }
  }
}

}  // namespace
}  // namespace jumok
