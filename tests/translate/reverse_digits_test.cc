// A model trained by this program to turn lines of digits round (data/reverse-digits): it translates what it has never seen, its
// probabilities are those PyTorch computes from the same file, and its attention shows what it does.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/workers.h"
#include "jumok/translator.h"
#include "models/model_files.h"
#include "text/lines.h"
#include "translate/decode.h"
#include "translate/forced.h"

namespace jumok {
namespace {

const std::string kFolder = JUMOK_TEST_DATA "/reverse-digits/";

class ReverseDigits : public testing::TestWithParam<int> {
 protected:
  const Translator translator_{kFolder, {.threads = GetParam()}};
  const std::vector<std::string> source_ = read_lines(kFolder + "unseen.source"), target_ = read_lines(kFolder + "unseen.target");
};

TEST_P(ReverseDigits, FiftyUnseenLinesAreAllTranslatedRightByGreedyAndByBeamSearch) {
  ASSERT_EQ(source_.size(), 50u);
  for (const int beam : {1, 4}) {
    const auto found = translator_.translate(source_, {.beam = beam});
    for (size_t i = 0; i < source_.size(); ++i) EXPECT_EQ(found[i].front().text, target_[i]) << source_[i];
  }
}

// This model's subwords rewrite nothing: to them a no-break space is an unknown symbol, and the model would answer it.
TEST_P(ReverseDigits, BlankLinesDoNotReachTheModel) {
  for (const auto& list : translator_.translate(std::vector<std::string>{" ", "\t", "\xC2\xA0", "\xE3\x80\x80", "\xEF\xBB\xBF"})) {
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].text, "");
    EXPECT_EQ(list[0].log_prob, 0);
  }
}

TEST_P(ReverseDigits, LogProbabilitiesAreThoseOfPyTorchWithTheSameFile) {
  std::vector<std::string> sources, targets;
  std::vector<double> expected;
  for (const std::string& line : read_lines(kFolder + "golden.tsv")) {
    std::istringstream fields(line);
    std::string source, target, log_prob;
    std::getline(fields, source, '\t');
    std::getline(fields, target, '\t');
    std::getline(fields, log_prob);
    sources.push_back(source);
    targets.push_back(target);
    expected.push_back(std::stod(log_prob));
  }
  ASSERT_GE(expected.size(), 30u);
  const auto found = translator_.score(sources, targets);
  // f32 against f64: an error of about 1e-6 a logit of size 10 and a symbol; the worst sums here are near -100.
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i].log_prob, expected[i], 1e-4) << sources[i] << " -> " << targets[i];
}

TEST_P(ReverseDigits, AttentionLinksEachDigitToItsPlaceInTheSource) {
  const auto found = translator_.translate(source_, {.alignments = true, .alignment_layer = 1});
  size_t right = 0, all = 0;
  for (const auto& list : found) {
    const Alignment& a = list.front().alignment;
    EXPECT_EQ(a.links.size(), a.target_words.size());
    for (const auto& [source, target] : a.links) right += source + target + 1 == static_cast<int>(a.source_words.size()) ? 1 : 0;
    all += a.target_words.size();
  }
  EXPECT_GT(static_cast<double>(right), 0.9 * static_cast<double>(all));
}

// Search and forced decoding leave out the same symbols (start, unknown) before the softmax, count the end symbol and use the same length.
TEST_P(ReverseDigits, ForcedDecodingOfEveryNBestEntryGivesTheScoreOfTheSearch) {
  const LoadedModel loaded = load_model(kFolder);
  Workers workers(GetParam(), flush_denormals);
  std::vector<std::vector<int32_t>> sources;
  for (const auto& line : source_) sources.push_back(loaded.subwords.source->encode(line).ids);
  DecodeOptions options;
  options.search = translation_search();
  options.search.beam = options.search.nbest = 5;
  options.search.alpha = 0.7;
  std::vector<SymbolPair> pairs;
  std::vector<Hypothesis> finished;
  const auto lists = decode(*loaded.model, loaded.parameters->data(), sources, options, workers);
  for (size_t i = 0; i < sources.size(); ++i) {
    for (const Hypothesis& h : lists[i]) {
      if (h.cut) continue;
      pairs.push_back({sources[i], h.tokens});
      finished.push_back(h);
    }
  }
  ASSERT_GE(pairs.size(), 200u);
  ForcedOptions forced_options;
  forced_options.forbidden = never_produced();
  const auto forced = force(*loaded.model, loaded.parameters->data(), pairs, forced_options, workers);
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_NEAR(forced[i].log_prob, finished[i].log_prob, 1e-4);
    EXPECT_NEAR(forced[i].log_prob / std::pow(static_cast<double>(pairs[i].target.size()) + 1, 0.7), finished[i].score, 1e-4);
  }
}

TEST_P(ReverseDigits, ScoringTheBestTranslationGivesItsLogProbability) {
  const auto found = translator_.translate(source_);
  std::vector<std::string> texts;
  for (const auto& list : found) texts.push_back(list.front().text);
  const auto scores = translator_.score(source_, texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_NEAR(scores[i].log_prob, found[i].front().log_prob, 1e-4);
    EXPECT_NEAR(scores[i].log_prob / static_cast<double>(scores[i].tokens), found[i].front().score, 1e-4);
  }
}

TEST_P(ReverseDigits, APairBeyondTheLastPositionIsRefusedByForcedDecoding) {
  const LoadedModel loaded = load_model(kFolder);
  Workers workers(1, flush_denormals);
  EXPECT_THROW(force(*loaded.model, loaded.parameters->data(), {{{3}, std::vector<int32_t>(16, 3)}}, {}, workers), Error);
  EXPECT_NO_THROW(force(*loaded.model, loaded.parameters->data(), {{{3}, std::vector<int32_t>(15, 3)}}, {}, workers));
}

INSTANTIATE_TEST_SUITE_P(Threads, ReverseDigits, testing::Values(1, 2));

}  // namespace
}  // namespace jumok
