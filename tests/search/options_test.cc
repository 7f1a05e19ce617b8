// Options and models that search refuses, each with one line that says what was expected and found.
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "search/beam.h"
#include "search/greedy.h"
#include "search/sampling.h"
#include "table_model.h"

namespace jumok {
namespace {

SearchOptions good() { return {.start = 0, .end = 1}; }

// The message of the Error that beam search throws, empty if none.
std::string beam_error(const SearchOptions& options, const std::vector<Symbols>& prefixes = {}) {
  TableModel model(5, random_table(5, 1));
  try {
    beam_search(model, options, prefixes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

template <typename Change>
std::string changed(Change change) {
  SearchOptions options = good();
  change(options);
  return beam_error(options);
}

TEST(SearchOptions, GoodOnesAreTaken) { EXPECT_EQ(beam_error(good(), {{2, 3}}), ""); }

TEST(SearchOptions, OutOfRangeOnesAreRefusedWithWhatWasFound) {
  EXPECT_EQ(changed([](auto& o) { o.beam = 0; }), "search: expected a beam of at least 1, found 0");
  EXPECT_EQ(changed([](auto& o) { o.nbest = 5; }), "search: n-best must be in [1, 4] (the beam), found 5");
  EXPECT_EQ(changed([](auto& o) { o.nbest = 0; }), "search: n-best must be in [1, 4] (the beam), found 0");
  EXPECT_EQ(changed([](auto& o) { o.alpha = -1; }), "search: alpha must be 0 or more, found -1");
  EXPECT_EQ(changed([](auto& o) { o.max_length = -2; }), "search: the maximum length must be 0 (by the source) or more, found -2");
  EXPECT_EQ(changed([](auto& o) { o.min_length = -2; }), "search: the minimum length must be 0 or more, found -2");
  EXPECT_EQ(changed([](auto& o) { o.start = -1; }), "search: the start symbol must be in [0, 5), found -1");
  EXPECT_EQ(changed([](auto& o) { o.end = 5; }), "search: the end symbol must be in [0, 5), found 5");
  EXPECT_EQ(changed([](auto& o) { o.unknown = 5; }), "search: the unknown symbol must be below 5, found 5");
  EXPECT_EQ(changed([](auto& o) { o.forbidden = {7}; }), "search: a forbidden symbol must be in [0, 5), found 7");
  EXPECT_EQ(changed([](auto& o) { o.forbidden = {1}; }), "search: the end symbol 1 is among the forbidden ones; no output could end");
}

TEST(SearchOptions, PrefixesMustFitTheBatchAndTheVocabulary) {
  EXPECT_EQ(beam_error(good(), {{2}, {3}}), "search: expected no prefix or one for each of 1 sentences, found 2");
  EXPECT_EQ(beam_error(good(), {{2, 9}}), "search: a prefix symbol must be in [0, 5), found 9");
}

// 6 symbols can be fed: the start symbol, 4 of the prefix, one new one.
TEST(SearchOptions, APrefixTakesItsPartOfThePositionsAModelHas) {
  struct ShortModel : TableModel {
    using TableModel::TableModel;
    int longest_target() const override { return 6; }
  };
  const std::vector<Symbols> prefix = {{2, 3, 2, 3}}, too_long = {{2, 3, 2, 3, 2, 3}};
  SearchOptions options = good();
  options.max_length = options.min_length = 50;
  ShortModel beam_model(5, random_table(5, 1)), greedy_model(5, random_table(5, 1)), refused(5, random_table(5, 1));
  EXPECT_EQ(beam_search(beam_model, options, prefix)[0][0].tokens.size(), 2u);
  EXPECT_EQ(beam_model.rows_per_step.size(), 6u);
  EXPECT_EQ(greedy_search(greedy_model, options, prefix)[0].tokens.size(), 2u);
  EXPECT_EQ(greedy_model.rows_per_step.size(), 6u);
  EXPECT_THROW(beam_search(refused, options, too_long), Error);
}

TEST(SearchOptions, StartMayBeTheEndSymbolAsInSomeModels) {
  TableModel model(4, from_probabilities(4, 0, {{{}, {{2, .75}, {0, .25}}}}));
  const Hypothesis h = beam_search(model, {.beam = 1, .start = 0, .end = 0})[0][0];
  EXPECT_EQ(h.tokens, Symbols{2});
  EXPECT_NEAR(h.log_prob, std::log(.75), 1e-6);
}

TEST(SearchOptions, GreedyLooksAtNeitherBeamNorNbest) {
  TableModel model(5, random_table(5, 1));
  EXPECT_NO_THROW(greedy_search(model, {.beam = 0, .nbest = 9, .start = 0, .end = 1}));
}

TEST(SearchModel, LogitsThatAreNoNumbersAreAnErrorAndNotAnOutput) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    TableModel model(4, [=](int, const Symbols& history) {
      std::vector<float> logits(4, 0.f);
      if (history.size() == 3) logits[2] = bad;
      logits[1] = -9;
      return logits;
    });
    EXPECT_THROW(beam_search(model, good()), Error);
  }
}

TEST(SearchModel, NothingLeftToProduceIsAnError) {
  TableModel model(4, [](int, const Symbols&) { return std::vector<float>(4, kNever); });
  EXPECT_THROW(greedy_search(model, good()), Error);
}

TEST(SamplingOptions, OutOfRangeOnesAreRefused) {
  const std::vector<uint64_t> seeds{1}, two{1, 2};
  TableModel model(5, random_table(5, 1));
  EXPECT_THROW(sample(model, good(), {.temperature = 0}, seeds), Error);
  EXPECT_THROW(sample(model, good(), {.top_k = -1}, seeds), Error);
  EXPECT_THROW(sample(model, good(), {.top_p = 0}, seeds), Error);
  EXPECT_THROW(sample(model, good(), {.top_p = 1.5}, seeds), Error);
  EXPECT_THROW(sample(model, good(), {}, two), Error);
}

}  // namespace
}  // namespace jumok
