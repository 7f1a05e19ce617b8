// Validation scores of the little trained model of tests/translate, against its forced decoding and its translations.
#include "train/validation.h"

#include <gtest/gtest.h>

#include "base/float_mode.h"
#include "base/workers.h"
#include "text/lines.h"
#include "translate/forced.h"

namespace jumok {
namespace {

const std::filesystem::path kModel = std::filesystem::path(JUMOK_TEST_DATA).parent_path().parent_path() / "translate/data/reverse-digits";

class Validation : public testing::Test {
 protected:
  const LoadedModel loaded_ = load_model(kModel);
  const std::vector<std::string> source_ = read_lines(kModel / "unseen.source"), target_ = read_lines(kModel / "unseen.target");
  Workers workers_{2, flush_denormals};
};

TEST_F(Validation, TheLossIsTheMeanOfForcedDecodingPerSymbolAndEveryTranslationIsRight) {
  const ValidationSet set = make_validation_set(source_, target_, loaded_.subwords, 15, workers_);
  const ValidationScores scores = score_translations(*loaded_.model, loaded_.parameters->data(), set, *loaded_.subwords.target, workers_);
  std::vector<SymbolPair> pairs;
  for (size_t i = 0; i < source_.size(); ++i) {
    pairs.push_back({loaded_.subwords.source->encode(source_[i]).ids, loaded_.subwords.target->encode(target_[i]).ids});
  }
  double log_prob = 0, tokens = 0;
  for (const Forced& f : force(*loaded_.model, loaded_.parameters->data(), pairs, {}, workers_)) log_prob += f.log_prob;
  for (const SymbolPair& p : pairs) tokens += static_cast<double>(p.target.size()) + 1;
  const double loss = validation_loss(*loaded_.model, loaded_.parameters->data(), set.corpus, workers_);
  EXPECT_NEAR(loss, -log_prob / tokens, 1e-6);
  EXPECT_NEAR(scores.bleu, 100, 1e-9);
  EXPECT_NEAR(scores.chrf, 100, 1e-9);
}

TEST_F(Validation, PairsThatAreLeftOutHaveNoReferenceEither) {
  std::vector<std::string> source = source_, target = target_;
  source.insert(source.begin() + 3, "");
  target.insert(target.begin() + 3, "1 2 3");
  source.push_back("1 1 1 1 1 1 1 1 1 1 1 1 1");
  target.push_back("1");
  const ValidationSet set = make_validation_set(source, target, loaded_.subwords, 12, workers_);
  EXPECT_EQ(set.references, target_);
  EXPECT_EQ(set.corpus.size(), 50);
}

TEST_F(Validation, AWrongReferenceCostsScore) {
  std::vector<std::string> target = target_;
  std::swap(target[0], target[1]);
  const ValidationSet set = make_validation_set(source_, target, loaded_.subwords, 15, workers_);
  const ValidationScores scores = score_translations(*loaded_.model, loaded_.parameters->data(), set, *loaded_.subwords.target, workers_);
  EXPECT_LT(scores.bleu, 100);
  EXPECT_LT(scores.chrf, 100);
  EXPECT_GT(scores.bleu, 80);
}

}  // namespace
}  // namespace jumok
