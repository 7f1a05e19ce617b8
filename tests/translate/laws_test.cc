// What holds for every translation, shown on a model with random parameters: nothing depends on batches, neighbours or threads, every line
// has its answer, and search and forced decoding agree.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "jumok/aligner.h"
#include "jumok/translator.h"
#include "search/beam.h"
#include "search/greedy.h"
#include "tiny_model.h"
#include "translate/decode.h"

namespace jumok {
namespace {

constexpr int kPositions = 64;

class TranslatorLaws : public testing::Test {
 protected:
  // Of a recurrent preset, or without one of the tiny Transformer.
  explicit TranslatorLaws(const std::string& preset = "") : folder_(&opened_[preset].folder) {
    Opened& m = opened_[preset];
    if (m.one == nullptr) {
      preset.empty() ? write_tiny_model(folder_->path(), kPositions) : write_tiny_recurrent_model(folder_->path(), preset);
      m.one.reset(new Translator(folder_->path(), {.threads = 1}));
      m.two.reset(new Translator(folder_->path(), {.threads = 2}));
    }
    one_ = m.one.get();
    two_ = m.two.get();
  }
  static void TearDownTestSuite() { opened_.clear(); }
  static TranslateOptions quick() { return {.max_length = 12}; }  // random parameters seldom end a sentence: that keeps the tests short

  struct Opened {
    TemporaryFolder folder;
    std::unique_ptr<const Translator> one, two;  // of one thread and of two
  };
  inline static std::map<std::string, Opened> opened_;  // by preset, for all tests
  const TemporaryFolder* folder_;
  const Translator *one_, *two_;
};

// What holds for recurrent models too.
class EveryModelsLaws : public TranslatorLaws, public testing::WithParamInterface<const char*> {
 protected:
  EveryModelsLaws() : TranslatorLaws(GetParam()) {
    std::vector<std::vector<int32_t>> sources;
    for (const auto& line : random_lines(10, 6, 8)) sources.push_back(loaded_.subwords.source->encode(line).ids);
    sources_ = pack_source(sources);
    search_.max_length = quick().max_length;
  }
  std::unique_ptr<Stepper> start() const { return loaded_.model->start(loaded_.parameters->data(), sources_); }

  const LoadedModel loaded_ = load_model(folder_->path());
  PackedRows sources_;
  SearchOptions search_ = translation_search();
};
INSTANTIATE_TEST_SUITE_P(All, EveryModelsLaws, testing::Values("", "rnn-bahdanau", "rnn-luong-general"));

void expect_same(const std::vector<Translation>& a, const std::vector<Translation>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].text, b[i].text);
    EXPECT_EQ(a[i].score, b[i].score) << a[i].text;  // the same bits
    EXPECT_EQ(a[i].log_prob, b[i].log_prob);
    EXPECT_EQ(a[i].cut, b[i].cut);
    EXPECT_EQ(a[i].alignment.links, b[i].alignment.links);
    EXPECT_EQ(a[i].alignment.weights, b[i].alignment.weights);
  }
}

TEST_P(EveryModelsLaws, BatchSizeAndThreadsChangeNoBit) {
  const auto lines = random_lines(50, 9, 3);
  TranslateOptions options = quick();
  options.nbest = 3;
  options.alignments = true;
  const auto expected = one_->translate(lines, options);
  for (const int64_t tokens : {int64_t{1}, int64_t{20}, int64_t{64}, int64_t{500}, int64_t{100000}}) {
    options.batch_tokens = tokens;
    for (const Translator* translator : {one_, two_}) {
      const auto found = translator->translate(lines, options);
      ASSERT_EQ(found.size(), lines.size());
      for (size_t i = 0; i < lines.size(); ++i) expect_same(found[i], expected[i]);
    }
  }
}

TEST_F(TranslatorLaws, EveryLineHasItsAnswerAtAnyCount) {
  TranslateOptions options = quick();
  options.beam = 1;
  options.max_length = 4;
  const auto lines = random_lines(1003, 4, 5);
  options.batch_tokens = 8 * 8;
  const auto all = two_->translate(lines, options);
  ASSERT_EQ(all.size(), 1003u);
  EXPECT_EQ(two_->translate(std::span(lines).first(1), options).size(), 1u);
  EXPECT_EQ(two_->translate({}, options).size(), 0u);
  for (const size_t chunk : {size_t{10}, size_t{999}, size_t{1000}}) {
    for (size_t begin = 0; begin < lines.size(); begin += chunk) {
      const auto part = two_->translate(std::span(lines).subspan(begin, std::min(chunk, lines.size() - begin)), options);
      for (size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i].front().text, all[begin + i].front().text) << chunk << " " << begin + i;
    }
  }
}

TEST_P(EveryModelsLaws, ALongNeighbourChangesNothing) {
  const std::string a = "The cat sits on the mat.";
  std::string neighbour = "dog";
  const TranslateOptions options = quick();
  const auto expected = one_->translate(std::vector{a}, options)[0];
  for (int words = 1; words < 40; words += 19) {
    expect_same(one_->translate(std::vector{a, neighbour}, options)[0], expected);
    expect_same(one_->translate(std::vector{neighbour, a}, options)[1], expected);
    for (int w = 0; w < 19; ++w) neighbour += " it";
  }
}

TEST_P(EveryModelsLaws, EmptyLinesBetweenOthersStayEmptyAndChangeNothing) {
  const std::string longer = "The children play with a red ball in the morning.", shorter = "Snow";
  const TranslateOptions options = quick();
  const auto found = one_->translate(std::vector<std::string>{longer, "", longer, "", shorter}, options);
  ASSERT_EQ(found.size(), 5u);
  for (const size_t blank : {1, 3}) {
    ASSERT_EQ(found[blank].size(), 1u);
    EXPECT_EQ(found[blank][0].text, "");
    EXPECT_EQ(found[blank][0].score, 0);
  }
  expect_same(found[0], one_->translate(std::vector{longer}, options)[0]);
  expect_same(found[2], found[0]);
  expect_same(found[4], one_->translate(std::vector{shorter}, options)[0]);
  for (const auto& list : one_->translate(std::vector<std::string>(4), options)) EXPECT_EQ(list.front().text, "");
}

TEST_F(TranslatorLaws, LinesOfSpacesOnlyGiveEmptyTranslations) {
  const std::vector<std::string> blanks = {" ", "   ", "\t", "\xC2\xA0", "\xE3\x80\x80", "\xEF\xBB\xBF", "\xE2\x80\x8B"};
  TranslateOptions options = quick();
  options.alignments = true;
  for (const auto& list : one_->translate(blanks, options)) {
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].text, "");
    EXPECT_TRUE(list[0].alignment.links.empty());
  }
}

// A word that is one symbol, so that lines of any number of symbols can be made.
std::string one_symbol_word(const Subwords& subwords) {
  for (const auto& line : random_lines(200, 1, 17)) {
    if (subwords.encode(line).ids.size() == 1) return line;
  }
  return "";
}

std::string repeated(const std::string& word, int count) {
  std::string line = word;
  for (int i = 1; i < count; ++i) line += " " + word;
  return line;
}

// The model has 64 positions: 63 symbols and the end symbol.
TEST_F(TranslatorLaws, SourcesBeyondTheLastPositionAreCutWithAWarningEach) {
  std::vector<std::string> warnings;
  const Translator translator(folder_->path(), {.threads = 1, .log = [&](LogLevel, const std::string& w) { warnings.push_back(w); }});
  const std::string word = one_symbol_word(*load_model(folder_->path()).subwords.source);
  ASSERT_NE(word, "");
  TranslateOptions options = quick();
  options.first_line = 101;
  const auto found = translator.translate(
      std::vector{repeated(word, kPositions - 2), repeated(word, kPositions - 1), repeated(word, kPositions), repeated(word, 200)},
      options);
  ASSERT_EQ(found.size(), 4u);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0], "line 103: 64 symbols, the model takes 63: the rest is cut off");
  EXPECT_EQ(warnings[1], "line 104: 200 symbols, the model takes 63: the rest is cut off");
  expect_same(found[2], found[1]);  // what is left after the cut is the whole of line 102
  expect_same(found[3], found[1]);
}

TEST_F(TranslatorLaws, HugeLinesAreAnsweredInLittleTime) {
  std::string words;
  for (int i = 0; i < 20000; ++i) words += "cat ";
  const auto found = one_->translate(std::vector<std::string>{"A dog.", std::string(100000, 'x'), words, "A cat."}, quick());
  ASSERT_EQ(found.size(), 4u);
  expect_same(found[3], one_->translate(std::vector<std::string>{"A cat."}, quick())[0]);
}

TEST_F(TranslatorLaws, TextAfterANulIsTranslatedToo) {
  const std::string with_nul("The cat\0 sits on the mat", 24);
  const auto found = one_->translate(std::vector{with_nul, std::string("The cat")}, quick());
  EXPECT_NE(found[0][0].log_prob, found[1][0].log_prob);
  expect_same(found[0], one_->translate(std::vector<std::string>{"The cat\xEF\xBF\xBD sits on the mat"}, quick())[0]);
}

TEST_P(EveryModelsLaws, BeamOneIsGreedySearchToTheBit) {
  search_.beam = 1;
  const auto greedy = greedy_search(*start(), search_);
  const auto beam = beam_search(*start(), search_);
  const auto all = [](const Hypothesis& h) { return std::tuple(h.tokens, h.log_prob, h.score, h.cut); };
  for (size_t i = 0; i < greedy.size(); ++i) EXPECT_EQ(all(beam.at(i).at(0)), all(greedy[i]));
}

// At most a dozen symbols, each less than 1e-5 apart.
TEST_P(EveryModelsLaws, ForcedDecodingOfEveryNBestEntryGivesTheProbabilityOfTheSearch) {
  search_.beam = search_.nbest = 4;
  const auto lists = beam_search(*start(), search_);
  const std::vector<int32_t> forbidden = never_produced();
  for (size_t k = 0; k < 4; ++k) {
    std::vector<std::vector<int32_t>> targets;
    for (const auto& list : lists) targets.push_back(list.at(k).tokens);
    const PackedTarget target = pack_target(targets);
    PairBatch batch{sources_, target};
    batch.forbidden = forbidden;
    Arena arena;
    Context context{arena, loaded_.parameters->data()};
    std::vector<float> nll(target.labels.size());
    loaded_.model->nll(context, batch, nll.data());
    for (size_t i = 0; i < lists.size(); ++i) {
      const auto first = nll.begin() + target.input.begin[i];
      const double log_prob = -std::accumulate(first, first + target.input.length[i] - (lists[i][k].cut ? 1 : 0), 0.0);
      EXPECT_NEAR(lists[i][k].log_prob, log_prob, 1e-4) << "line " << i << ", entry " << k;
    }
  }
}

TEST_P(EveryModelsLaws, NBestListsFallInScoreAndHoldNoOutputTwice) {
  TranslateOptions options = quick();
  options.beam = options.nbest = 5;
  for (const auto& list : two_->translate(random_lines(20, 8, 9), options)) {
    ASSERT_EQ(list.size(), 5u);
    for (size_t i = 1; i < list.size(); ++i) EXPECT_LE(list[i].score, list[i - 1].score);
  }
}

TEST_F(TranslatorLaws, OptionsOutOfRangeAreRefusedWithBothValues) {
  const auto message = [&](TranslateOptions o) -> std::string {
    try {
      one_->translate(std::vector<std::string>{"a"}, o);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message({.beam = 0}).find("beam = 0"), std::string::npos);
  EXPECT_NE(message({.beam = 2, .nbest = 3}).find("n-best = 3"), std::string::npos);
  EXPECT_NE(message({.max_length = -1}).find("maximum length = -1"), std::string::npos);
  EXPECT_NE(message({.batch_tokens = 0}).find("batch tokens = 0"), std::string::npos);
  EXPECT_NE(message({.alignment_layer = 2}).find("expected 0 to 1"), std::string::npos);
  EXPECT_NE(message({.alpha = -1}).find("alpha"), std::string::npos);
  EXPECT_NE(message({.alpha = std::numeric_limits<double>::quiet_NaN()}).find("alpha = nan: expected 0 or more"), std::string::npos);
}

TEST_P(EveryModelsLaws, ScoresOfPairsDependOnNoNeighbourAndCountTheEndSymbol) {
  const auto sources = random_lines(30, 8, 13), targets = random_lines(30, 8, 14);
  const auto all = two_->score(sources, targets);
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto alone = one_->score(std::span(sources).subspan(i, 1), std::span(targets).subspan(i, 1));
    EXPECT_EQ(alone[0].log_prob, all[i].log_prob);
    EXPECT_LT(all[i].log_prob, 0);
  }
  const auto empty = one_->score(std::vector<std::string>{"", "A dog."}, std::vector<std::string>{"", ""});
  EXPECT_EQ(empty[0].tokens, 1);
  EXPECT_LT(empty[1].log_prob, 0);
  EXPECT_THROW(one_->score(sources, std::span(targets).first(29)), Error);
}

TEST_F(TranslatorLaws, ATargetThatHoldsAnUnknownSymbolStillHasAProbability) {
  const auto scores = one_->score(std::vector<std::string>{"A dog."}, std::vector<std::string>{"\xEC\xA3\xBC\xEB\xAA\xA9"});
  EXPECT_TRUE(std::isfinite(scores[0].log_prob));
}

TEST_F(TranslatorLaws, AlignmentsPointIntoTheSentencesAndRowsSumToAtMostOne) {
  TranslateOptions options = quick();
  options.alignments = true;
  const std::vector<std::string> lines = {"A dog", "The children play with a red ball in the"};
  const auto together = two_->translate(lines, options);
  for (size_t i = 0; i < lines.size(); ++i) {
    expect_same(together[i], one_->translate(std::span(lines).subspan(i, 1), options)[0]);
    const Alignment& a = together[i][0].alignment;
    const size_t columns = a.source_words.size();
    EXPECT_EQ(columns, i == 0 ? 2u : 9u);
    EXPECT_EQ(a.weights.size(), columns * a.target_words.size());
    for (size_t t = 0; t < a.target_words.size(); ++t) {
      float sum = 0;
      for (size_t s = 0; s < columns; ++s) sum += a.weights[t * columns + s];
      EXPECT_LE(sum, 1 + 1e-5);
    }
    for (const auto& [source, target] : a.links) {
      EXPECT_TRUE(source >= 0 && static_cast<size_t>(source) < columns && target >= 0 &&
                  static_cast<size_t>(target) < a.target_words.size());
    }
    EXPECT_EQ(a.layer, "decoder.layers.0.cross_attention");
  }
}

// As long as the model has positions, and cut: forced decoding of it would need one position more.
TEST_F(TranslatorLaws, TheLongestPossibleTranslationIsAlignedToo) {
  TranslateOptions options;
  options.beam = 1;
  options.max_length = 1000;
  options.alignments = true;
  int longest = 0;
  for (const auto& list : two_->translate(random_lines(30, 9, 21), options)) longest += list.front().cut ? 1 : 0;
  EXPECT_GT(longest, 0) << "no translation reached the limit: the case is not tested";
}

// 11 583 symbols and their end are the most whose weights, with as many for twice the symbols, take 1 GB.
TEST(TranslatorMemory, AskingForTheAlignmentOfALongLineDoesNotChangeItsTranslation) {
  TemporaryFolder folder;
  write_tiny_recurrent_model(folder.path(), "rnn-luong-dot");
  std::vector<std::string> messages;
  const Translator translator(folder.path(), {.threads = 1, .log = [&](LogLevel, const std::string& text) { messages.push_back(text); }});
  TranslateOptions search{.beam = 1, .max_length = 3};
  const std::vector<std::string> line = {repeated("cat", 13000)};
  const std::vector<std::string> plain = {translator.translate(line, search)[0][0].text};
  EXPECT_TRUE(messages.empty());
  search.alignments = true;
  const Translation aligned = translator.translate(line, search)[0][0];
  EXPECT_EQ(aligned.text, plain[0]);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("memory is kept for the weights of 11584: the rest has no links"), std::string::npos) << messages[0];
}

TEST_P(EveryModelsLaws, MatricesAreThoseOfTheAligner) {
  std::vector<std::string> sources = random_lines(12, 8, 5), targets = random_lines(12, 8, 6);
  sources[3] = targets[7] = "";
  const auto found = two_->matrices(sources, targets), expected = Aligner(folder_->path(), {.threads = 1}).matrices(sources, targets);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].weights, expected[i].weights);
    EXPECT_EQ(found[i].source_symbols, expected[i].source_symbols);
    EXPECT_EQ(found[i].target_symbols, expected[i].target_symbols);
    EXPECT_EQ(found[i].layers, expected[i].layers);
    EXPECT_EQ(found[i].heads, expected[i].heads);
    EXPECT_EQ(found[i].weights.empty(), i == 3 || i == 7);
  }
  EXPECT_THROW(one_->matrices(sources, {}), Error);
}

TEST_F(TranslatorLaws, ThePageShowsTheWordsAndAsksNoNetwork) {
  const std::string page = one_->attention_page("Test <page>", std::vector<std::string>{"The cat sits", ""},
                                                std::vector<std::string>{"A dog & a horse", ""}, std::vector<std::string>{"reference", ""});
  for (const char* wanted : {"Test &lt;page&gt;", "The cat sits", "reference"}) EXPECT_NE(page.find(wanted), std::string::npos) << wanted;
  for (const char* network : {"http:", "https:", "src=", "@import", "url("}) {
    for (size_t at = page.find(network); at != std::string::npos; at = page.find(network, at + 1)) {
      EXPECT_EQ(page.compare(at, 24, "http://www.w3.org/2000/s"), 0) << page.substr(at, 60);  // the name of SVG, not an address to load
    }
  }
  EXPECT_THROW(one_->attention_page("x", std::vector<std::string>{"a"}, {}), Error);
}

TEST_F(TranslatorLaws, FactsNameShapeAndVocabulary) {
  std::string all;
  for (const auto& [name, value] : one_->facts()) all += name + "=" + value + "\n";
  EXPECT_NE(all.find("model.width=16\n"), std::string::npos) << all;
  EXPECT_NE(all.find("joint subwords"), std::string::npos) << all;
}

std::string too_long() { return repeated("a", 3 * kPositions); }

// The sink of a program may want a translation itself, or wait for another thread that does.
TEST_F(TranslatorLaws, ASinkThatCallsTheTranslatorIsAnswered) {
  Translator* translator = nullptr;
  std::vector<std::string> messages;
  TranslatorOptions options;
  options.threads = 2;
  options.log = [&](LogLevel, const std::string& text) {
    messages.push_back(text);
    if (messages.size() == 1) translator->score(std::vector<std::string>{"a"}, std::vector<std::string>{too_long()}, 5);
    // Whose own warning comes when this one is through.
    if (messages.size() == 2) std::thread([&] { translator->score(std::vector{too_long()}, std::vector<std::string>{"a"}, 7); }).join();
  };
  Translator t(folder_->path(), options);
  translator = &t;
  t.translate(std::vector<std::string>{"a", "", too_long()}, {.beam = 1, .max_length = 2, .first_line = 10});
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_TRUE(messages[0].starts_with("line 12: ")) << messages[0];
  EXPECT_TRUE(messages[1].starts_with("target line 5: ")) << messages[1];
  EXPECT_TRUE(messages[2].starts_with("source line 7: ")) << messages[2];
}

TEST_F(TranslatorLaws, AnAttentionPageSaysWhichLinesItCut) {
  std::vector<std::string> messages;
  const Translator t(folder_->path(), {.threads = 1, .log = [&](LogLevel, const std::string& text) { messages.push_back(text); }});
  const std::vector<std::string> sources = {"a", too_long()}, targets = {too_long(), "a"};
  t.attention_page("page", sources, targets);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_TRUE(messages[0].starts_with("source line 2: ")) << messages[0];
  EXPECT_TRUE(messages[1].starts_with("target line 1: ")) << messages[1];
}

}  // namespace
}  // namespace jumok
