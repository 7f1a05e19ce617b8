#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "jumok/error.h"
#include "jumok/metrics.h"

namespace jumok {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Bleu, NoMatchOfAnyOrderIsZeroUnderEverySmoothing) {
  for (const auto smoothing : {Smoothing::kExp, Smoothing::kNone, Smoothing::kFloor, Smoothing::kAddK}) {
    MetricOptions options;
    options.smoothing = smoothing;
    EXPECT_EQ(sentence_bleu("left", "right", options).score, 0.0);
    EXPECT_EQ(bleu({"left"}, {"right"}, options).score, 0.0);
    EXPECT_EQ(sentence_bleu("one two three four", "five six", options).score, 0.0);
    EXPECT_EQ(bleu({"one two three four"}, {"five six"}, options).score, 0.0);
  }
}

// 100 · exp(1 - 9/6): every n-gram matches, 6 words against 9.
TEST(Bleu, EmptyHypothesisIsPaidForByTheBrevityPenalty) {
  const auto score = bleu({"", "the cat sat on the mat"}, {"hello there friend", "the cat sat on the mat"});
  EXPECT_NEAR(score.score, 60.6530659712633, 1e-10);
  EXPECT_EQ(score.precisions, (std::vector<double>{100, 100, 100, 100}));
  EXPECT_EQ(score.hypothesis_length, 6);
  EXPECT_EQ(score.reference_length, 9);
  EXPECT_NEAR(score.brevity_penalty, std::exp(-0.5), 1e-15);
}

TEST(Bleu, EmptyHypothesesAloneAreZeroWithoutNan) {
  const auto score = bleu({""}, {"hello there friend"});
  EXPECT_EQ(score.score, 0.0);
  EXPECT_EQ(score.brevity_penalty, 0.0);
  EXPECT_EQ(score.ratio, 0.0);
  EXPECT_EQ(score.note, "the hypotheses have no words, so BLEU is 0");
  EXPECT_EQ(bleu({""}, {""}).score, 0.0);
  EXPECT_EQ(sentence_bleu("", "").score, 0.0);
}

TEST(Bleu, CorpusOfSentencesBelowFourWordsIsZeroAndSaysWhy) {
  const auto score = bleu({"a b c"}, {"a b c"});
  EXPECT_EQ(score.score, 0.0);
  EXPECT_EQ(score.note, "no hypothesis has 4 words, so there is no 4-gram and BLEU-4 is 0");
  EXPECT_EQ(bleu({"a b c d"}, {"a b c d"}).note, "");
}

TEST(Bleu, UnequalLineCountsAreRefusedWithBothCounts) {
  const std::vector<std::string> three(3, "x"), four(4, "x");
  for (const auto& message : {message_of([&] { bleu(three, four); }), message_of([&] { chrf(three, four); })}) {
    EXPECT_NE(message.find("3 hypotheses"), std::string::npos) << message;
    EXPECT_NE(message.find("4 references"), std::string::npos) << message;
  }
  EXPECT_THROW(bleu({}, {}), Error);
}

// 3/4, 2/3, 1/2 and, smoothed, 1/2 of 1: (1/8)^(1/4).
TEST(Bleu, ChineseIsScoredByCharacterWhenAskedAndTheSignatureSaysSo) {
  MetricOptions zh;
  zh.tokenizer = Tokenizer::kZh;
  const std::string cat = "我喜欢猫", dog = "我喜欢狗";
  const auto score = bleu({cat}, {dog}, zh);
  EXPECT_NEAR(score.score, 100 * std::pow(0.125, 0.25), 1e-9);
  EXPECT_NE(score.signature.find("|tok:zh|"), std::string::npos);
  EXPECT_EQ(bleu({"我 喜 欢 猫"}, {dog}, zh).score, score.score);
  EXPECT_EQ(bleu({"我 喜 欢 猫"}, {"我 喜欢 狗"}, zh).score, score.score);
  EXPECT_EQ(bleu({cat}, {dog}).score, 0.0);
  EXPECT_NE(bleu({cat}, {dog}).signature.find("|tok:13a|"), std::string::npos);
}

TEST(Bleu, ShortAnswersAreScoredBySentenceBleu) {
  EXPECT_NEAR(sentence_bleu("a b c", "a b c").score, 100.0, 1e-10);
  EXPECT_NEAR(sentence_bleu("a", "a b").score, 100.0 * std::exp(-1.0), 1e-10);
  EXPECT_EQ(sentence_bleu("a b c", "a b c").note, "");
}

// "the the the the the the the" against "the cat is on the mat": 2/7 (Papineni et al. 2002, section 2.1, example 2).
TEST(Bleu, MatchesAreClippedByTheReference) {
  const auto score = bleu({"the the the the the the the"}, {"the cat is on the mat"});
  EXPECT_EQ(score.matches[0], 2);
  EXPECT_EQ(score.totals[0], 7);
}

TEST(Bleu, CharactersBeyondTheBmpAreOneWordEach) {
  MetricOptions options;
  options.tokenizer = Tokenizer::kChar;
  EXPECT_EQ(bleu({"𠮷野家🙂é"}, {"x"}, options).hypothesis_length, 5);
}

TEST(Bleu, BadUtf8IsScoredAsReplacementCharacters) { EXPECT_NEAR(bleu({"a b c \xFF"}, {"a b c \xEF\xBF\xBD"}).score, 100.0, 1e-10); }

TEST(Bleu, OptionsOutOfRangeAreRefusedByName) {
  MetricOptions options;
  options.smooth_value = 0.0;
  EXPECT_NE(message_of([&] { bleu({"a"}, {"a"}, options); }).find("smooth_value"), std::string::npos);
  options.char_order = 0;
  EXPECT_NE(message_of([&] { chrf({"a"}, {"a"}, options); }).find("char_order"), std::string::npos);
  EXPECT_NE(message_of([&] { parse_tokenizer("13A"); }).find("13a, char, none, intl or zh, found '13A'"), std::string::npos);
}

// Characters "ab" against "abc": P = (1 + 1)/2, R = (2/3 + 1/2)/2 over the orders 1 and 2; chrF2 = 5PR / (4P + R).
TEST(Chrf, ShortLineIsAveragedOverTheOrdersThatExist) {
  const double recall = (2.0 / 3 + 1.0 / 2) / 2;
  EXPECT_NEAR(chrf({"a b"}, {"abc"}).score, 100 * 5 * recall / (4 + recall), 1e-10);
}

TEST(Perplexity, IsTheExponentialOfTheMeanNll) {
  EXPECT_DOUBLE_EQ(perplexity(10 * std::log(8.0), 10), 8.0);
  EXPECT_EQ(perplexity(1e6, 1), INFINITY);
  EXPECT_THROW(perplexity(0, 0), Error);
}

}  // namespace
}  // namespace jumok
