// Generator: a random model for what must not depend on batch, threads and neighbours; a trained one (data/repeat-digits) for right
// answers.
#include "jumok/generator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "jumok/translator.h"
#include "models/model_files.h"
#include "text/lines.h"
#include "tiny_model.h"

namespace jumok {
namespace {

const std::string kRepeat = JUMOK_TEST_DATA "/repeat-digits/";

class RandomModel : public testing::Test {
 protected:
  RandomModel() { write_tiny_language_model(folder_.path()); }
  Generator generator(int threads = 1) {
    return Generator(folder_.path(), {.threads = threads, .log = [this](LogLevel, const std::string& text) { warnings_.push_back(text); }});
  }
  static std::vector<std::string> prompts() {
    std::vector<std::string> lines = random_lines(40, 8, 3);
    lines[5] = lines[20] = "";
    return lines;
  }

  TemporaryFolder folder_;
  std::vector<std::string> warnings_;
};

void expect_same(const std::vector<std::vector<Generation>>& a, const std::vector<std::vector<Generation>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (size_t k = 0; k < a[i].size(); ++k) {
      EXPECT_EQ(a[i][k].text, b[i][k].text);
      EXPECT_EQ(a[i][k].continuation, b[i][k].continuation);
      EXPECT_EQ(a[i][k].log_prob, b[i][k].log_prob);  // to the bit
      EXPECT_EQ(a[i][k].tokens, b[i][k].tokens);
    }
  }
}

TEST_F(RandomModel, NeitherThreadsNorBatchesChangeADrawToTheBit) {
  const auto lines = prompts();
  GenerateOptions o{.samples = 2, .max_length = 20, .batch = 1};
  const auto expected = generator(1).generate(lines, o);
  for (const int threads : {1, 2}) {
    for (const int batch : {7, 32}) {
      o.batch = batch;
      expect_same(generator(threads).generate(lines, o), expected);
    }
  }
}

TEST_F(RandomModel, MatricesAreOfThePastAloneAndSumToOne) {
  const auto found = generator().matrices(std::vector<std::string>{"the cat sits", "", "a dog"});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[1].weights.empty() && found[1].target_symbols.empty());
  EXPECT_EQ(found[1].layers, 2);
  for (const size_t i : {0, 2}) {
    const AttentionMatrices& m = found[i];
    const size_t n = m.target_symbols.size();
    ASSERT_EQ(m.source_symbols.size(), n);
    EXPECT_EQ(m.source_symbols.front(), "<s>");
    EXPECT_EQ(m.target_symbols.back(), "</s>");
    for (size_t t = 0; t + 1 < n; ++t) EXPECT_EQ(m.source_symbols[t + 1], m.target_symbols[t]);
    ASSERT_EQ(m.weights.size(), static_cast<size_t>(m.layers * m.heads) * n * n);
    for (size_t row = 0; row < m.weights.size() / n; ++row) {
      double sum = 0;
      for (size_t s = 0; s < n; ++s) {
        const float weight = m.weights[row * n + s];
        sum += weight;
        EXPECT_EQ(weight == 0, s > row % n) << "row " << row << ", column " << s;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  // A text's matrices depend on no other text.
  EXPECT_EQ(generator(2).matrices(std::vector<std::string>{"a dog"})[0].weights, found[2].weights);
}

TEST_F(RandomModel, ADrawDependsOnTheSeedAndTheLinesTextAlone) {
  const Generator g = generator();
  const auto lines = prompts();
  const auto all = g.generate(lines, {.max_length = 20});
  for (const size_t i : {0u, 5u, 39u}) expect_same(g.generate(std::vector{lines[i]}, {.max_length = 20}), {all[i]});
  expect_same({all[5]}, {all[20]});
  size_t changed = 0;
  const auto other = g.generate(lines, {.seed = 2, .max_length = 20});
  for (size_t i = 0; i < lines.size(); ++i) changed += other[i][0].text != all[i][0].text;
  EXPECT_GT(changed, 35u);
}

TEST_F(RandomModel, SamplesDifferAndFewerAreTheFirstOfMore) {
  const Generator g = generator();
  const std::vector<std::string> line = {"The cat"};
  const auto three = g.generate(line, {.samples = 3, .max_length = 20}), one = g.generate(line, {.max_length = 20});
  EXPECT_EQ(three[0][0].text, one[0][0].text);
  EXPECT_NE(three[0][0].text, three[0][1].text);
  EXPECT_NE(three[0][1].text, three[0][2].text);
}

TEST_F(RandomModel, TheBestOneIsTheGreedyOne) {
  const Generator g = generator();
  const auto lines = prompts();
  expect_same(g.generate(lines, {.top_k = 1, .max_length = 20}), g.generate(lines, {.greedy = true, .max_length = 20}));
  expect_same(g.generate(lines, {.top_p = 1e-9, .max_length = 20}), g.generate(lines, {.greedy = true, .max_length = 20}));
}

TEST_F(RandomModel, TheTextIsThePromptAsWrittenAndWhatIsNew) {
  const Generator g = generator();
  const std::vector<std::string> lines = {"The cat", "The  cat", "ｆｕｌｌ width", ""};  // what the subwords rewrite stays in the output
  const auto found = g.generate(lines, {.max_length = 20});
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(found[i][0].text, lines[i] + found[i][0].continuation);
  const auto space = g.generate(std::vector<std::string>{"The cat "}, {.samples = 20, .max_length = 5});
  for (const Generation& one : space[0]) EXPECT_EQ(one.text.find("cat  "), std::string::npos) << one.text;
}

TEST_F(RandomModel, AStopTextEndsTheContinuationInFrontOfItsFirstPlace) {
  const Generator g = generator();
  const auto lines = prompts();
  const auto whole = g.generate(lines, {.max_length = 40});
  size_t tried = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& text = whole[i][0].continuation;
    if (text.size() < 12) continue;
    ++tried;
    const std::string stop = text.substr(text.size() / 2, 2);
    const auto cut = g.generate(std::vector{lines[i]}, {.max_length = 40, .stop = stop});
    EXPECT_EQ(cut[0][0].continuation, text.substr(0, text.find(stop)));
    EXPECT_TRUE(cut[0][0].stopped);
    EXPECT_LT(cut[0][0].tokens, whole[i][0].tokens);  // and does not go on for nothing
  }
  EXPECT_GT(tried, 10u);
  EXPECT_FALSE(g.generate(lines, {.max_length = 5, .stop = "never there"})[0][0].stopped);
}

TEST_F(RandomModel, APromptBeyondTheLastPositionIsReadFromItsEndWithOneWarning) {
  write_tiny_language_model(folder_.path(), 16);
  const Generator g = generator();
  const std::string tail = random_lines(1, 30, 8).front();
  std::string head;
  for (int i = 0; i < 30; ++i) head += "dog ";
  const std::vector<std::string> one = {head + tail}, other = {"cat " + head + tail};
  const auto a = g.generate(one, {.greedy = true, .max_length = 6});
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("line 1: the prompt has "), std::string::npos) << warnings_[0];
  EXPECT_NE(warnings_[0].find("only the last 10 symbols are read"), std::string::npos) << warnings_[0];
  const auto b = g.generate(other, {.greedy = true, .max_length = 6});
  EXPECT_EQ(a[0][0].continuation, b[0][0].continuation);  // what is not read does not matter
  EXPECT_EQ(a[0][0].log_prob, b[0][0].log_prob);
  EXPECT_EQ(a[0][0].text, one[0] + a[0][0].continuation);
  EXPECT_LE(a[0][0].tokens, 6);
}

TEST_F(RandomModel, TheLastPositionEndsAContinuation) {
  write_tiny_language_model(folder_.path(), 16);
  for (const auto& list : generator().generate(prompts(), {.samples = 3, .max_length = 1000})) {
    for (const Generation& one : list) EXPECT_LE(one.tokens, 16);
  }
}

TEST_F(RandomModel, OptionsOutOfRangeAreRefused) {
  const Generator g = generator();
  const std::vector<std::string> line = {"The"};
  EXPECT_THROW(g.generate(line, {.temperature = 0}), Error);
  EXPECT_THROW(g.generate(line, {.temperature = std::nan("")}), Error);
  EXPECT_THROW(g.generate(line, {.top_k = -1}), Error);
  EXPECT_THROW(g.generate(line, {.top_p = 0}), Error);
  EXPECT_THROW(g.generate(line, {.samples = 0}), Error);
  EXPECT_THROW(g.generate(line, {.max_length = 0}), Error);
  EXPECT_THROW(g.generate(line, {.batch = 0}), Error);
  EXPECT_TRUE(g.generate({}).empty());
}

TEST_F(RandomModel, ModelsOfTheOtherKindAreRefusedByName) {
  EXPECT_TRUE(is_language_model(folder_.path()));
  EXPECT_THROW(Translator(folder_.path(), {.threads = 1, .log = {}}), Error);
  TemporaryFolder translation;
  write_tiny_model(translation.path());
  EXPECT_FALSE(is_language_model(translation.path()));
  try {
    Generator(translation.path(), {.threads = 1, .log = {}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), translation.path().string() + ": expected a language model, found a translation model");
  }
}

class RepeatDigits : public testing::TestWithParam<int> {
 protected:
  const Generator generator_{kRepeat, {.threads = GetParam(), .log = {}}};
  const std::vector<std::string> unseen_ = read_lines(kRepeat + "unseen.text");
};

// Four digits determine the other eight and the end.
TEST_P(RepeatDigits, FiftyUnseenLinesAreGoneOnWithRightFromAnyPlace) {
  ASSERT_EQ(unseen_.size(), 50u);
  for (const size_t digits : {4u, 6u, 11u, 12u}) {
    std::vector<std::string> prompts;
    for (const std::string& line : unseen_) prompts.push_back(line.substr(0, 2 * digits - 1));
    const auto found = generator_.generate(prompts, {.greedy = true});
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(found[i][0].text, unseen_[i]);
      EXPECT_EQ(found[i][0].continuation, unseen_[i].substr(prompts[i].size()));
      EXPECT_FALSE(found[i][0].cut);
      EXPECT_EQ(found[i][0].tokens, static_cast<int64_t>(12 - digits + 1));
    }
  }
}

TEST_P(RepeatDigits, LogProbabilitiesAreThoseOfPyTorchWithTheSameFile) {
  std::vector<std::string> texts;
  std::vector<double> expected;
  for (const std::string& line : read_lines(kRepeat + "golden.tsv")) {
    const size_t tab = line.find('\t');
    texts.push_back(line.substr(0, tab));
    expected.push_back(std::stod(line.substr(tab + 1)));
  }
  ASSERT_GE(expected.size(), 25u);
  const auto found = generator_.score(texts);
  // f32 against f64: an error of about 1e-6 a logit of size 10 and a symbol; the worst sums here are near -100.
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i].log_prob, expected[i], 1e-4) << texts[i];
}

// A block is one of 10000, the rest is certain: log P near -4 log 10 = -9.21; an empty prompt draws such lines from the start symbol.
TEST_P(RepeatDigits, WhatIsDrawnFromNothingIsALineOfItsKindAndHasItsScore) {
  const auto drawn = generator_.generate(std::vector<std::string>{""}, {.samples = 40})[0];
  std::vector<std::string> texts;
  size_t right = 0;
  for (const Generation& g : drawn) {
    texts.push_back(g.text);
    right += g.text.size() == 23 && g.text.substr(0, 7) == g.text.substr(8, 7) && g.text.substr(0, 7) == g.text.substr(16, 7);
  }
  EXPECT_GE(right, 36u);
  const auto scores = generator_.score(texts);
  for (size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_NEAR(drawn[i].log_prob, scores[i].log_prob, 1e-4) << texts[i];
    EXPECT_EQ(drawn[i].tokens, scores[i].tokens);
  }
  double sum = 0;
  const auto unseen = generator_.score(unseen_);
  for (const TextScore& s : unseen) sum += s.log_prob;
  EXPECT_NEAR(sum / 50, -4 * std::log(10.0), 0.5);
}

TEST_P(RepeatDigits, TextsOfMoreSymbolsThanPositionsAreCutWithAWarning) {
  std::vector<std::string> warnings;
  const Generator g(kRepeat, {.threads = 1, .log = [&](LogLevel, const std::string& text) { warnings.push_back(text); }});
  std::string longest = "1", longer = "1 1";
  for (int i = 1; i < 15; ++i) longest += " 1", longer += " 1";
  const auto scores = g.score(std::vector{longest, longer}, 7);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "line 8: 16 symbols, the model takes 15: the rest is cut off");
  EXPECT_EQ(scores[0].log_prob, scores[1].log_prob);
}

INSTANTIATE_TEST_SUITE_P(Threads, RepeatDigits, testing::Values(1, 2));

}  // namespace
}  // namespace jumok
