// Sampling: frequencies against the distribution they are drawn from.
#include "search/sampling.h"

#include <gtest/gtest.h>

#include <numeric>

#include "search/greedy.h"
#include "table_model.h"

namespace jumok {
namespace {

constexpr int32_t kStart = 0, kEnd = 1;
const SearchOptions kOptions{.start = kStart, .end = kEnd};

// One word out of four with .5 .3 .15 .05, then the end.
Table four_words() { return from_probabilities(6, kEnd, {{{}, {{2, .5}, {3, .3}, {4, .15}, {5, .05}}}}); }

// How often each word came, out of `draws` sentences with seeds 0, 1, ...
std::vector<double> frequencies(const SamplingOptions& sampling, int draws = 20000) {
  std::vector<uint64_t> seeds(draws);
  std::iota(seeds.begin(), seeds.end(), 0);
  TableModel model(6, four_words(), std::vector<int>(draws, 0));
  std::vector<double> share(6, 0.);
  for (const Hypothesis& h : sample(model, kOptions, sampling, seeds)) ++share[h.tokens.at(0)];
  for (double& count : share) count /= draws;
  return share;
}

void expect_frequencies(const SamplingOptions& sampling, const std::vector<double>& expected, int draws = 20000) {
  const std::vector<double> share = frequencies(sampling, draws);
  for (int word = 0; word < 4; ++word) {
    const double p = expected[word];
    EXPECT_NEAR(share[word + 2], p, 4.5 * std::sqrt(p * (1 - p) / draws)) << "word " << word;  // an impossible word: exactly 0
  }
}

TEST(Sampling, PlainDrawsFollowTheModel) { expect_frequencies({}, {.5, .3, .15, .05}); }

TEST(Sampling, TemperatureSharpensAndFlattens) {
  expect_frequencies({.temperature = .5}, {.25 / .365, .09 / .365, .0225 / .365, .0025 / .365});
  const double flat = std::sqrt(.5) + std::sqrt(.3) + std::sqrt(.15) + std::sqrt(.05);
  expect_frequencies({.temperature = 2}, {std::sqrt(.5) / flat, std::sqrt(.3) / flat, std::sqrt(.15) / flat, std::sqrt(.05) / flat});
}

TEST(Sampling, TopKDrawsFromTheKBestOnly) {
  expect_frequencies({.top_k = 2}, {.625, .375, 0, 0});
  expect_frequencies({.top_k = 100}, {.5, .3, .15, .05});
}

TEST(Sampling, TopPDrawsFromTheFewestThatReachP) {
  expect_frequencies({.top_p = .45}, {1, 0, 0, 0});
  expect_frequencies({.top_p = .7}, {.625, .375, 0, 0});
  expect_frequencies({.top_p = .9}, {.5 / .95, .3 / .95, .15 / .95, 0});
}

TEST(Sampling, TopPIsTakenOfWhatTopKLeft) {
  // Of .5 .3 .15 the first two reach 80 / 95 = .842 of the rest.
  expect_frequencies({.top_k = 3, .top_p = .83}, {.625, .375, 0, 0});
}

TEST(Sampling, NucleusIsExactWhereManySymbolsAreLight) {
  // 1000 symbols with weights 1/2, 1/4, ... 1/2^10, and the rest equal: the nucleus of p = .9 is 1/2 1/4 1/8 1/16 (sum .9375), never more.
  const int vocabulary = 1000;
  const Table table = [&](int, const Symbols& history) {
    std::vector<float> logits(vocabulary, static_cast<float>(std::log(std::pow(.5, 10) / (vocabulary - 12))));
    for (int i = 0; i < 10; ++i) logits[2 + i] = static_cast<float>((i + 1) * std::log(.5));
    logits[kStart] = logits[kEnd] = kNever;
    if (history.size() > 1) logits.assign(vocabulary, kNever), logits[kEnd] = 0;
    return logits;
  };
  std::vector<uint64_t> seeds(2000);
  std::iota(seeds.begin(), seeds.end(), 0);
  TableModel model(vocabulary, table, std::vector<int>(seeds.size(), 0));
  std::vector<int> count(vocabulary, 0);
  for (const Hypothesis& h : sample(model, kOptions, {.top_p = .9}, seeds)) ++count[h.tokens.at(0)];
  EXPECT_GT(count[5], 0);
  EXPECT_EQ(count[2] + count[3] + count[4] + count[5], 2000);
}

TEST(Sampling, DrawsOfASentenceDependOnItsSeedAndNotOnTheBatch) {
  const Table table = random_table(20, 4, .7);
  const std::vector<int> sources{0, 1, 2, 3}, lengths{8, 2, 5, 1};
  const std::vector<uint64_t> seeds{11, 22, 33, 44};
  const SamplingOptions sampling{.temperature = .8, .top_k = 12, .top_p = .9};
  TableModel batch(20, table, sources, lengths);
  const auto together = sample(batch, kOptions, sampling, seeds);
  bool some_differ = false;
  for (size_t s = 0; s < sources.size(); ++s) {
    TableModel single(20, table, {sources[s]}, {lengths[s]}), reseeded(20, table, {sources[s]}, {lengths[s]});
    const std::vector<uint64_t> seed{seeds[s]}, other{seeds[s] + 1};
    const Hypothesis alone = sample(single, kOptions, sampling, seed)[0];
    EXPECT_EQ(alone.tokens, together[s].tokens);
    EXPECT_EQ(alone.log_prob, together[s].log_prob);
    some_differ = some_differ || sample(reseeded, kOptions, sampling, other)[0].tokens != alone.tokens;
  }
  EXPECT_TRUE(some_differ);
}

TEST(Sampling, PositionsOfOneSentenceAreDrawnIndependently) {
  const Table table = [](int, const Symbols& history) {
    return history.size() > 2 ? std::vector<float>{kNever, 0, kNever, kNever, kNever, kNever}
                              : std::vector<float>{kNever, kNever, 0, 0, 0, 0};
  };
  const int draws = 4000;
  std::vector<uint64_t> seeds(draws);
  std::iota(seeds.begin(), seeds.end(), 0);
  TableModel model(6, table, std::vector<int>(draws, 0));
  int equal = 0;
  for (const Hypothesis& h : sample(model, kOptions, {}, seeds)) equal += h.tokens.at(0) == h.tokens.at(1);
  EXPECT_NEAR(equal, draws / 4, 4.5 * std::sqrt(draws * .25 * .75));  // two of four equally likely words
}

TEST(Sampling, LogProbIsTheModelsWhateverWasDrawnFrom) {
  const Table table = random_table(10, 9);
  TableModel model(10, table);
  const std::vector<uint64_t> seeds{5};
  const Hypothesis h = sample(model, kOptions, {.temperature = 3, .top_k = 4}, seeds)[0];
  EXPECT_NEAR(h.log_prob, forced_log_prob(table, 0, {kStart}, h.tokens, h.cut ? -1 : kEnd, {kStart}), 1e-5);
}

TEST(Sampling, TopKOfOneIsGreedy) {
  const Table table = random_table(10, 21);
  TableModel first(10, table, {0, 1}), second(10, table, {0, 1});
  const std::vector<uint64_t> seeds{5, 6};
  const auto drawn = sample(first, kOptions, {.top_k = 1}, seeds), greedy = greedy_search(second, kOptions);
  for (int s = 0; s < 2; ++s) {
    EXPECT_EQ(drawn[s].tokens, greedy[s].tokens);
    EXPECT_EQ(drawn[s].log_prob, greedy[s].log_prob);
  }
}

TEST(Sampling, ForbiddenSymbolsAreNeverDrawn) {
  SearchOptions options = kOptions;
  options.forbidden = {2, 3};
  std::vector<uint64_t> seeds(3000);
  std::iota(seeds.begin(), seeds.end(), 100);
  TableModel model(6, four_words(), std::vector<int>(seeds.size(), 0));
  int fourth = 0;
  for (const Hypothesis& h : sample(model, options, {}, seeds)) {
    ASSERT_GE(h.tokens.at(0), 4);
    fourth += h.tokens[0] == 5;
  }
  EXPECT_NEAR(fourth / 3000., .25, .036);
}

}  // namespace
}  // namespace jumok
