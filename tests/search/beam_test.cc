// Beam search on models with known probabilities: expected values are worked out by hand.
#include "search/beam.h"

#include <gtest/gtest.h>

#include <set>

#include "search/greedy.h"
#include "table_model.h"

namespace jumok {
namespace {

constexpr int32_t kStart = 0, kEnd = 1;

SearchOptions options(int beam, int nbest = 1) { return {.beam = beam, .nbest = nbest, .start = kStart, .end = kEnd}; }

// First-step probabilities .4 .3 .2 .1 for four words, then the end symbol with .9.
TEST(Beam, StartIsExpandedOnceAndTheNbestListHoldsDifferentOutputs) {
  Probabilities p{{{}, {{2, .4}, {3, .3}, {4, .2}, {5, .1}}}};
  for (int32_t word = 2; word <= 5; ++word) p[{word}] = {{kEnd, .9}, {2, .04}, {3, .03}, {4, .02}, {5, .01}};
  TableModel model(6, from_probabilities(6, kEnd, p));
  const auto list = beam_search(model, options(4, 4))[0];
  EXPECT_EQ(model.rows_per_step.front(), 1);
  ASSERT_EQ(list.size(), 4u);
  const double first[] = {.4, .3, .2, .1};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(list[i].tokens, Symbols{2 + i});
    EXPECT_FALSE(list[i].cut);
    EXPECT_NEAR(list[i].score, std::log(first[i] * .9) / 2, 1e-6);
  }
}

// x ends with .5475 at once, but "y z w" has the better normalised score.
Table ended_early() {
  const int32_t x = 2, y = 3, z = 4, w = 5, q = 6;
  return from_probabilities(7, kEnd,
                            {{{}, {{x, .55}, {y, .45}}},
                             {{x}, {{kEnd, .5475}, {q, .4525}}},
                             {{y}, {{z, .606}, {q, .394}}},
                             {{y, z}, {{w, .99}, {kEnd, .01}}},
                             {{y, z, w}, {{kEnd, .99}, {q, .01}}}});
}

TEST(Beam, SearchGoesOnWhileALongerHypothesisCanStillWin) {
  TableModel model(7, ended_early());
  const Hypothesis best = beam_search(model, options(2))[0][0];
  EXPECT_EQ(best.tokens, (Symbols{3, 4, 5}));
  EXPECT_NEAR(best.log_prob, -1.319484, 1e-6);
  EXPECT_NEAR(best.score, -0.329871, 1e-6);
}

TEST(Beam, WithoutNormalisationTheShortOutputWins) {
  TableModel model(7, ended_early());
  SearchOptions plain = options(2);
  plain.alpha = 0;
  const Hypothesis best = beam_search(model, plain)[0][0];
  EXPECT_EQ(best.tokens, Symbols{2});
  EXPECT_NEAR(best.score, -1.200230, 1e-6);
}

TEST(Beam, SearchEndsAtOnceWhenNothingOpenCanWin) {
  // log .99 / 1 = -0.01005 against at best log .01 / 5 = -0.92.
  TableModel model(3, from_probabilities(3, kEnd, {{{}, {{kEnd, .99}, {2, .01}}}}));
  SearchOptions five = options(2);
  five.max_length = 5;
  EXPECT_TRUE(beam_search(model, five)[0][0].tokens.empty());
  EXPECT_EQ(model.rows_per_step, std::vector<int>{1});
}

TEST(Beam, BoundUsesTheLimitAndNotTheLengthReached) {
  // The end at once scores log .5 / 1 = -0.693; five certain symbols after a .4 score log .4 / 5 = -0.183: only the bound at the limit sees
  // it.
  const Probabilities p{{{}, {{kEnd, .5}, {2, .4}, {3, .1}}}, {{2}, {{2, 1.}}}, {{2, 2}, {{2, 1.}}}, {{2, 2, 2}, {{2, 1.}}}};
  TableModel model(4, from_probabilities(4, kEnd, p));
  SearchOptions five = options(2);
  five.max_length = 5;
  const Hypothesis best = beam_search(model, five)[0][0];
  EXPECT_EQ(best.tokens, (Symbols{2, 2, 2, 2}));
  EXPECT_NEAR(best.score, std::log(.4) / 5, 1e-6);
}

// Ten forced symbols; then "a" + end with log P = -2, or "b c d" + end with log P = -2.4.
TEST(Beam, ForcedPrefixIsCountedNeitherInLengthNorInLogProb) {
  const int32_t a = 2, b = 3, c = 4, d = 5;
  const int vocabulary = 70;
  const Symbols prefix(10, 6);
  const std::map<Symbols, std::pair<int32_t, double>> path{
      {{a}, {kEnd, -1}}, {{b}, {c, -.6}}, {{b, c}, {d, -.6}}, {{b, c, d}, {kEnd, -.6}}};
  const Table table = [&](int, const Symbols& history) {
    std::vector<float> logits(vocabulary, kNever);
    if (history.size() <= prefix.size()) {  // what the model thinks inside the prefix plays no part
      logits[kEnd] = 0;
      return logits;
    }
    const Symbols fresh(history.begin() + 1 + prefix.size(), history.end());
    std::map<int32_t, double> known;
    if (fresh.empty()) known = {{a, -1}, {b, -.6}};
    if (const auto found = path.find(fresh); found != path.end()) known.insert(found->second);
    double rest = 1;
    for (const auto& [symbol, log_prob] : known) rest -= std::exp(log_prob);
    for (int s = 10; s < vocabulary; ++s) logits[s] = static_cast<float>(std::log(rest / (vocabulary - 10)));  // spread thinly
    for (const auto& [symbol, log_prob] : known) logits[symbol] = static_cast<float>(log_prob);
    return logits;
  };
  TableModel model(vocabulary, table);
  const std::vector<Symbols> prefixes{prefix};
  const auto list = beam_search(model, options(2, 2), prefixes)[0];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].tokens, (Symbols{b, c, d}));
  EXPECT_NEAR(list[0].log_prob, -2.4, 1e-5);
  EXPECT_NEAR(list[0].score, -.6, 1e-6);
  EXPECT_EQ(list[1].tokens, Symbols{a});
  EXPECT_NEAR(list[1].score, -1., 1e-6);
}

// Padding (symbol 2) has by far the largest logit.
TEST(Beam, ForbiddenSymbolsAreTakenOutBeforeTheSoftmax) {
  const Table table = [](int, const Symbols& history) {
    if (history.size() > 1) return std::vector<float>{kNever, 0, kNever, kNever, kNever};
    return std::vector<float>{9, kNever, 5, 1, 1};  // the start symbol has the highest of all
  };
  TableModel model(5, table);
  SearchOptions no_padding = options(2, 2);
  no_padding.forbidden = {2};
  const auto list = beam_search(model, no_padding)[0];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].tokens, Symbols{3});  // equal: the lower symbol first
  EXPECT_EQ(list[1].tokens, Symbols{4});
  EXPECT_NEAR(list[0].log_prob, -0.693147, 1e-6);
  EXPECT_NEAR(list[1].log_prob, -0.693147, 1e-6);
}

TEST(Beam, UnknownSymbolIsProducedOnlyWhereAllowed) {
  const Table table = [](int, const Symbols& history) {
    if (history.size() > 1) return std::vector<float>{kNever, 0, kNever, kNever};
    return std::vector<float>{kNever, kNever, 3, 0};
  };
  SearchOptions with_unknown = options(1);
  with_unknown.unknown = 2;
  TableModel strict(4, table), loose(4, table);
  const Hypothesis hypothesis = beam_search(strict, with_unknown)[0][0];
  EXPECT_EQ(hypothesis.tokens, Symbols{3});
  EXPECT_NEAR(hypothesis.log_prob, 0, 1e-6);
  with_unknown.allow_unknown = true;
  EXPECT_EQ(beam_search(loose, with_unknown)[0][0].tokens, Symbols{2});
}

// A model that never prefers the end symbol.
TEST(Beam, OutputAtTheLimitHasExactlyThatManyTokensAndIsMarkedAsCut) {
  const Table table = [](int, const Symbols&) { return std::vector<float>{kNever, -6, 3, 1}; };
  for (const int beam : {1, 4}) {
    for (const int limit : {5, 500}) {
      TableModel model(4, table);
      SearchOptions limited = options(beam);
      limited.max_length = limit;
      const Hypothesis best = beam_search(model, limited)[0][0];
      EXPECT_EQ(best.tokens, Symbols(limit, 2));
      EXPECT_TRUE(best.cut);
      EXPECT_EQ(static_cast<int>(model.rows_per_step.size()), limit);
      EXPECT_NEAR(best.score, log_softmax(table(0, {}), {})[2], 1e-6);
    }
  }
}

TEST(Beam, DefaultLimitIsTwiceTheSourcePlusTen) {
  TableModel model(4, [](int, const Symbols&) { return std::vector<float>{kNever, -6, 3, 1}; }, {0, 0}, {1, 30});
  const auto lists = beam_search(model, options(2));
  EXPECT_EQ(lists[0][0].tokens.size(), 12u);
  EXPECT_EQ(lists[1][0].tokens.size(), 70u);
}

TEST(Beam, EndSymbolWaitsForTheMinimumLengthAndTheLimitIsStronger) {
  const Table table = [](int, const Symbols&) { return std::vector<float>{kNever, 5, 1, 0}; };
  SearchOptions at_least = options(3);
  at_least.min_length = 4;
  TableModel model(4, table), short_model(4, table);
  const Hypothesis best = beam_search(model, at_least)[0][0];
  EXPECT_EQ(best.tokens, Symbols(4, 2));
  EXPECT_FALSE(best.cut);
  at_least.max_length = 3;
  EXPECT_EQ(beam_search(short_model, at_least)[0][0].tokens.size(), 3u);
}

// One very likely short output, five wanted.
TEST(Beam, NbestListIsFullAndEveryEntryIsFinishedOrMarked) {
  const Table table = [](int, const Symbols& history) {
    if (history.size() == 1) return std::vector<float>{kNever, 8, 1, 0, 0, 0};
    return std::vector<float>{kNever, -3, 1, .5f, 0, -.5f};
  };
  TableModel model(6, table, {0, 1}, {2, 3});
  for (const auto& list : beam_search(model, options(5, 5))) {
    ASSERT_EQ(list.size(), 5u);
    EXPECT_TRUE(list[0].tokens.empty());
    std::set<Symbols> different;
    for (size_t i = 0; i < list.size(); ++i) {
      different.insert(list[i].tokens);
      EXPECT_GE(list[i == 0 ? 0 : i - 1].score, list[i].score);
      const double again = forced_log_prob(table, 0, {kStart}, list[i].tokens, list[i].cut ? -1 : kEnd, {kStart});
      EXPECT_NEAR(list[i].log_prob, again, 1e-5);
    }
    EXPECT_EQ(different.size(), 5u);
  }
}

// The end at once takes one of the two places for good, so one hypothesis goes on, although two of its children are likely.
TEST(Beam, FinishedHypothesesKeepTheirPlaces) {
  const Probabilities p{{{}, {{kEnd, .4}, {2, .35}, {3, .25}}}, {{2}, {{2, .5}, {3, .5}}}, {{2, 2}, {{2, .5}, {3, .5}}}};
  TableModel model(4, from_probabilities(4, kEnd, p));
  EXPECT_EQ(beam_search(model, options(2, 2))[0].size(), 2u);
  EXPECT_EQ(model.rows_per_step, (std::vector<int>{1, 1, 1, 1}));
}

// By hand: the end symbol with .4 is no arg max beside a with .6.
TEST(Beam, EndSymbolIsAcceptedOnlyAmongTheBestOfTheBeam) {
  TableModel model(4, from_probabilities(4, kEnd, {{{}, {{2, .6}, {kEnd, .4}}}, {{2}, {{3, .3}, {kEnd, .7}}}}));
  EXPECT_EQ(beam_search(model, options(1))[0][0].tokens, Symbols{2});
}

// The children of the second hypothesis come first in the second step, those of the third in the third.
TEST(Beam, ModelStateFollowsTheSurvivingHypotheses) {
  Probabilities p{{{}, {{2, .4}, {3, .35}, {4, .25}}},
                  {{2}, {{5, .4}, {6, .35}, {7, .25}}},   // .16  .14
                  {{3}, {{5, .95}, {6, .05}}},            // .3325
                  {{4}, {{5, .6}, {6, .4}}},              // .15
                  {{3, 5}, {{2, .3}, {3, .4}, {4, .3}}},  // .133
                  {{2, 5}, {{2, .3}, {3, .3}, {4, .4}}},  // .064
                  {{4, 5}, {{6, .98}, {7, .02}}},         // .147
                  {{4, 5, 6}, {{7, .9}, {2, .1}}},
                  {{4, 5, 6, 7}, {{4, .9}, {2, .1}}},
                  {{4, 5, 6, 7, 4}, {{kEnd, .9}, {2, .1}}}};
  const Table table = from_probabilities(8, kEnd, p);
  TableModel model(8, table);
  const auto list = beam_search(model, options(3, 3))[0];
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].tokens, (Symbols{4, 5, 6, 7, 4}));
  EXPECT_NEAR(list[0].log_prob, std::log(.25 * .6 * .98 * .9 * .9 * .9), 1e-6);
  for (const Hypothesis& h : list) EXPECT_NEAR(h.log_prob, forced_log_prob(table, 0, {kStart}, h.tokens, kEnd, {kStart}), 1e-5);
}

TEST(Beam, EqualHypothesesAreOrderedByParentThenSymbol) {
  // All symbols alike in every step: 4 of 9 outputs of two tokens survive, the lowest.
  const Table table = [](int, const Symbols& history) {
    return history.size() > 2 ? std::vector<float>{kNever, 0, kNever, kNever, kNever} : std::vector<float>{kNever, kNever, 0, 0, 0};
  };
  TableModel model(5, table);
  const auto list = beam_search(model, options(4, 4))[0];
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].tokens, (Symbols{2, 2}));
  EXPECT_EQ(list[1].tokens, (Symbols{2, 3}));
  EXPECT_EQ(list[2].tokens, (Symbols{2, 4}));
  EXPECT_EQ(list[3].tokens, (Symbols{3, 2}));
}

}  // namespace
}  // namespace jumok
