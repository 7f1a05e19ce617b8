// Alignments of given pairs: with the model that turns lines of digits round, and with little models of random parameters.
#include "jumok/aligner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "jumok/translator.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "tiny_model.h"

namespace jumok {
namespace {

using Lines = std::vector<std::string>;
const std::string kFolder = JUMOK_TEST_DATA "/reverse-digits/";

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class ReverseDigitsAligner : public testing::Test {
 protected:
  // The gold of a line of n digits: n-1-t to t.
  static GoldAlignment turned(const std::string& line) {
    GoldAlignment gold;
    const auto n = static_cast<int>(split_words(line).size());
    for (int t = 0; t < n; ++t) gold.sure.push_back({n - 1 - t, t});
    return gold;
  }

  const Aligner aligner_{kFolder, {.threads = 2}};
  const Lines source_ = read_lines(kFolder + "unseen.source"), target_ = read_lines(kFolder + "unseen.target");
};

TEST_F(ReverseDigitsAligner, EachWordIsLinkedToItsMirrorImageInTheLastLayer) {
  AlignOptions options;
  options.attention.layer = 1;
  EXPECT_EQ(aligner_.align(Lines{"3 1 4"}, Lines{"4 1 3"}, options)[0].links, (WordLinks{{0, 2}, {1, 1}, {2, 0}}));
}

TEST_F(ReverseDigitsAligner, TheDefaultIsWhatTranslateShows) {
  const Translator translator(kFolder);
  TranslateOptions options;
  options.alignments = true;
  const auto translated = translator.translate(source_, options);
  Lines targets;
  for (const auto& list : translated) targets.push_back(list.front().text);
  const auto aligned = aligner_.align(source_, targets);
  for (size_t i = 0; i < source_.size(); ++i) {
    EXPECT_EQ(aligned[i].links, translated[i].front().alignment.links);
    EXPECT_EQ(aligned[i].weights, translated[i].front().alignment.weights);
    EXPECT_EQ(aligned[i].layer, translated[i].front().alignment.layer);
  }
}

// PyTorch in double precision, from the same file (data/reverse-digits/make_golden.py).
TEST_F(ReverseDigitsAligner, MatricesAreThoseOfPyTorchLayerByLayerHeadByHead) {
  const auto golden = nlohmann::json::parse(std::ifstream(kFolder + "attention.json"));
  ASSERT_EQ(golden.size(), 4u);
  for (const auto& g : golden) {
    const auto m = aligner_.matrices(Lines{g.at("source").get<std::string>()}, Lines{g.at("target").get<std::string>()}).front();
    const auto weights = g.at("weights").flatten();
    ASSERT_EQ(m.layers, 2);
    ASSERT_EQ(m.heads, 2);
    ASSERT_EQ(m.weights.size(), weights.size());
    size_t i = 0;
    for (const auto& layer : g.at("weights")) {
      for (const auto& head : layer) {
        for (const auto& row : head) {
          for (const double w : row) EXPECT_NEAR(m.weights[i++], w, 2e-6) << g.at("source");
        }
      }
    }
  }
}

TEST_F(ReverseDigitsAligner, MatricesHaveTheEndSymbolsAndTheirRowsSumToOne) {
  const auto m = aligner_.matrices(Lines{"3 1"}, Lines{"1 3 9"}).front();
  EXPECT_EQ(m.source_symbols.size(), 3u);
  EXPECT_EQ(m.target_symbols.size(), 4u);
  EXPECT_EQ(m.source_symbols.back(), "</s>");
  ASSERT_EQ(m.weights.size(), 2u * 2 * 4 * 3);
  for (size_t row = 0; row < 16; ++row) EXPECT_NEAR(m.weights[3 * row] + m.weights[3 * row + 1] + m.weights[3 * row + 2], 1, 1e-5);
}

// The weights chosen by hand are those of the matrices: here every digit is a symbol and a word.
TEST_F(ReverseDigitsAligner, LayerHeadAndStepAreTakenFromTheMatrices) {
  const Lines source = {"5 0 2"}, target = {"2 0 5 7"};
  const auto m = aligner_.matrices(source, target).front();
  const size_t columns = 4, rows = 5;
  AlignOptions options;
  for (options.attention.layer = 0; options.attention.layer < 2; ++options.attention.layer) {
    for (options.attention.head = 0; options.attention.head < 2; ++options.attention.head) {
      for (const auto step : {AttentionStep::kOutput, AttentionStep::kInput}) {
        options.attention.step = step;
        const Alignment a = aligner_.align(source, target, options).front();
        const size_t map = static_cast<size_t>(2 * options.attention.layer + options.attention.head);
        for (size_t t = 0; t < 4; ++t) {
          const size_t row = t + (step == AttentionStep::kInput ? 1 : 0);
          for (size_t s = 0; s < 3; ++s) EXPECT_EQ(a.weights[3 * t + s], m.weights[(map * rows + row) * columns + s]) << map << t << s;
        }
      }
    }
  }
}

TEST_F(ReverseDigitsAligner, BlankSidesGiveNoLinksAndKeepTheirPlace) {
  const auto found = aligner_.align(Lines{"", "3 1 4", " ", "3", "\xE3\x80\x80"}, Lines{"", "4 1 3", "4 1", "", "1"});
  ASSERT_EQ(found.size(), 5u);
  for (const size_t i : {0, 2, 3, 4}) EXPECT_TRUE(found[i].links.empty()) << i;
  EXPECT_EQ(found[1].links.size(), 3u);
  EXPECT_EQ(found[2].target_words.size(), 2u);
  const auto matrices = aligner_.matrices(Lines{"", "3"}, Lines{"1", "3"});
  EXPECT_TRUE(matrices[0].weights.empty() && matrices[0].source_symbols.empty() && matrices[0].target_symbols.empty());
  EXPECT_EQ(matrices[0].layers, 2);
  EXPECT_EQ(matrices[1].weights.size(), 2u * 2 * 2 * 2);
  EXPECT_TRUE(aligner_.align(Lines{}, Lines{}).empty());
}

TEST_F(ReverseDigitsAligner, AShortPairIsAlignedWithinItsWordsWhateverStandsBesideIt) {
  const Lines sources = {"3 1", "1 2 3 4 5 6 7 8 9"}, targets = {"1 3", "9 8 7 6 5 4 3 2 1"};
  const auto both = aligner_.align(sources, targets);
  for (size_t i = 0; i < 2; ++i) {
    const auto alone = aligner_.align(std::span(sources).subspan(i, 1), std::span(targets).subspan(i, 1)).front();
    EXPECT_EQ(both[i].weights, alone.weights);
    EXPECT_EQ(both[i].links, alone.links);
  }
  for (const auto& [s, t] : both[0].links) EXPECT_TRUE(s < 2 && t < 2);
}

TEST_F(ReverseDigitsAligner, OneWordSidesAreLinked) {
  EXPECT_EQ(aligner_.align(Lines{"7"}, Lines{"7"}).front().links, (WordLinks{{0, 0}}));
  EXPECT_EQ(aligner_.align(Lines{"7"}, Lines{"7 1"}).front().links, (WordLinks{{0, 0}, {0, 1}}));
}

TEST_F(ReverseDigitsAligner, WordsBeyondTheLastPositionHaveNoLinksAndTheLineIsNamed) {
  Lines said;
  const Aligner aligner(kFolder, {.threads = 1, .log = [&](LogLevel, const std::string& text) { said.push_back(text); }});
  std::string line = "1";
  for (int i = 1; i < 2000; ++i) line += " 1";
  AlignOptions options;
  options.first_line = 41;
  const auto found = aligner.align(Lines{"1", line}, Lines{"1", "1 1"}, options);
  EXPECT_EQ(said, (Lines{"source line 42: 2000 symbols, the model takes 15: the rest is cut off"}));
  EXPECT_EQ(found[1].source_words.size(), 2000u);
  for (const auto& [s, t] : found[1].links) EXPECT_LT(s, 15);
}

TEST_F(ReverseDigitsAligner, TheAttentionThatAgreesBestWithTheGoldIsFound) {
  std::vector<GoldAlignment> gold;
  for (const std::string& line : source_) gold.push_back(turned(line));
  const auto trials = aligner_.try_attentions(source_, target_, gold);
  ASSERT_EQ(trials.size(), 2u * 2 * 3);  // layers, steps, mean and two heads
  EXPECT_EQ(trials[0].attention, (AttentionChoice{0, -1, AttentionStep::kOutput}));
  EXPECT_EQ(trials[4].attention, (AttentionChoice{0, 0, AttentionStep::kInput}));
  // Each trial is what align and alignment_error_rate find.
  for (const AttentionTrial& t : trials) {
    AlignOptions options;
    options.attention = t.attention;
    std::vector<std::vector<AlignmentLink>> links;
    for (const Alignment& a : aligner_.align(source_, target_, options)) {
      links.emplace_back();
      for (const auto& [s, w] : a.links) links.back().push_back({s, w});
    }
    EXPECT_EQ(alignment_error_rate(links, gold).error_rate, t.score.error_rate);
  }
  const AttentionTrial& best = best_trial(trials);
  EXPECT_LT(best.score.error_rate, 0.02) << "one of them turns lines round";
  EXPECT_EQ(best.attention.layer, 1);
  for (const AttentionTrial& t : trials) EXPECT_LE(best.score.error_rate, t.score.error_rate);
}

TEST(BestTrial, OfEqualsTheFirstIsTakenAndNoneIsRefused) {
  std::vector<AttentionTrial> trials(3);
  trials[0].score.error_rate = 0.5;
  trials[1].score.error_rate = trials[2].score.error_rate = 0.25;
  for (int i = 0; i < 3; ++i) trials[static_cast<size_t>(i)].attention.layer = i;
  EXPECT_EQ(best_trial(trials).attention.layer, 1);
  EXPECT_NE(message_of([] { best_trial({}); }), "");
}

TEST_F(ReverseDigitsAligner, WhatDoesNotExistOrFitIsRefusedInOneLine) {
  const Lines one = {"1"}, two = {"1", "2"};
  const auto with = [](int layer, int head, double threshold = 0) {
    AlignOptions options;
    options.attention.layer = layer;
    options.attention.head = head;
    options.links.threshold = threshold;
    return options;
  };
  EXPECT_EQ(message_of([&] { aligner_.align(one, one, with(2, 0)); }), "alignment layer 2: expected 0 to 1, or -1 for the last but one");
  EXPECT_EQ(message_of([&] { aligner_.align(one, one, with(0, 2)); }), "attention head 2: expected 0 to 1, or -1 for the mean of all");
  EXPECT_EQ(message_of([&] { aligner_.align(one, one, with(0, -2)); }), "attention head -2: expected 0 to 1, or -1 for the mean of all");
  EXPECT_EQ(message_of([&] { aligner_.align(one, one, with(0, 0, NAN)); }), "link threshold = nan: expected 0 to 1");
  EXPECT_EQ(message_of([&] { aligner_.align(one, two); }), "expected as many targets as sources, found 2 and 1");
  EXPECT_EQ(message_of([&] { aligner_.try_attentions(one, one, {}); }),
            "expected gold links for as many pairs as there are, found 0 for 1");
}

TEST(Aligner, ASourceOfTwoThousandWordsIsAlignedWhereTheModelHasThePositions) {
  TemporaryFolder folder;
  write_tiny_model(folder.path(), 20000);
  std::string line;
  for (int i = 0; i < 2000; ++i) line += i > 0 ? " cat" : "cat";
  const Aligner aligner(folder.path(), {.threads = 1, .log = [](LogLevel, const std::string& text) { ADD_FAILURE() << text; }});
  const Alignment a = aligner.align(Lines{line}, Lines{"a dog runs"}).front();
  EXPECT_EQ(a.source_words.size(), 2000u);
  ASSERT_EQ(a.weights.size(), 6000u);
  EXPECT_EQ(a.links.size(), 3u);
  double last = 0;
  for (int s = 1900; s < 2000; ++s) last += a.weights[static_cast<size_t>(s)];
  EXPECT_GT(last, 0) << "the end of the line was attended to";
}

TEST(Aligner, ManyPairsAreTheSameInAnyCompanyAndWithAnyThreads) {
  TemporaryFolder folder;
  write_tiny_model(folder.path());
  const Lines sources = random_lines(40, 9, 1), targets = random_lines(40, 9, 2);
  const Aligner one(folder.path(), {.threads = 1}), two(folder.path(), {.threads = 2});
  AlignOptions narrow;
  narrow.batch_tokens = 30;
  const auto whole = one.align(sources, targets), parts = two.align(sources, targets, narrow);
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(whole[i].weights, parts[i].weights);
    EXPECT_EQ(whole[i].links.size(), whole[i].target_words.size()) << "each target word has its best source word";
  }
}

TEST(Aligner, AModelWithoutAttentionIsRefusedInOneLine) {
  TemporaryFolder folder;
  write_tiny_recurrent_model(folder.path(), "rnn-none");
  EXPECT_EQ(message_of([&] { Aligner{folder.path()}; }),
            folder.path().string() + ": this model has no attention over the source: it cannot align");
}

TEST(Aligner, DamagedParametersAreSaidInsteadOfLinks) {
  TemporaryFolder folder;
  write_tiny_model(folder.path());
  const LoadedModel model = load_model(folder.path());
  const std::vector<float> block(model.parameters->size(), NAN);
  write_parameters(folder.path() / "model.safetensors", model.model->layout(), block.data());
  const std::string message = message_of([&] { Aligner(folder.path()).align(Lines{"", "a dog"}, Lines{"", "a dog"}); });
  EXPECT_EQ(message, "line 2: the model gives no finite attention: its parameters are damaged");
}

TEST(Aligner, TheHeadsAreThoseTheMechanismHas) {
  TemporaryFolder folder;
  write_tiny_recurrent_model(folder.path(), "rnn-luong-general");
  const Aligner aligner(folder.path(), {.threads = 1});
  EXPECT_EQ(aligner.layers(), 1);
  EXPECT_EQ(aligner.heads(), 1);
  const auto m = aligner.matrices(Lines{"a dog"}, Lines{"a cat"}).front();
  EXPECT_EQ(m.weights.size(), m.source_symbols.size() * m.target_symbols.size());
  EXPECT_EQ(aligner.align(Lines{"a dog"}, Lines{"a cat"}).front().links.size(), 2u);
}

TEST_F(ReverseDigitsAligner, APageHoldsEveryPairButBlankOnes) {
  const Lines sources = {"3 1 4", "", "7"}, targets = {"4 1 3", "", "7"};
  const std::string page = attention_page("A title", aligner_.matrices(sources, targets), sources, targets);
  EXPECT_NE(page.find("A title"), std::string::npos);
  EXPECT_EQ(page.find("Sentence 2"), std::string::npos);  // the blank one: numbers are those of the lines
  EXPECT_NE(page.find("Sentence 3"), std::string::npos);
  EXPECT_EQ(page.find("Sentence 4"), std::string::npos);
  EXPECT_NE(message_of([&] { attention_page("x", {}, sources, targets); }), "");
}

}  // namespace
}  // namespace jumok
