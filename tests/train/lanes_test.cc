// The gradient of an update is the same sum however its sentences are dealt to lanes and micro-batches.
#include "train/lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/float_mode.h"
#include "base/rng.h"
#include "base/workers.h"

namespace jumok {
namespace {

constexpr int kVocabulary = 13;

class LanesTest : public testing::Test {
 protected:
  LanesTest() {
    ModelConfig config;
    config.encoder_layers = config.decoder_layers = 1;
    config.width = 32;
    config.heads = 2;
    config.feed_forward_width = 48;
    config.max_positions = 32;
    config.source_vocabulary = config.target_vocabulary = kVocabulary;
    model_ = make_model(config);
    parameters_.resize(model_->layout().size());
    model_->layout().initialise(parameters_.data(), 4);
  }

  // Sentences of the lengths (target, without end symbol).
  static ParallelCorpus corpus_of(const std::vector<int>& lengths) {
    Rng rng(9);
    std::vector<std::vector<int32_t>> source, target;
    for (const int n : lengths) {
      source.emplace_back(1 + rng.below(6));
      target.emplace_back(n);
      for (auto* side : {&source.back(), &target.back()}) {
        for (int32_t& id : *side) id = static_cast<int32_t>(3 + rng.below(kVocabulary - 3));
      }
    }
    return ParallelCorpus::from_symbols(source, target);
  }

  struct Sum {
    OutputLoss loss;
    std::vector<double> gradient;
  };
  Sum sum_of(const ParallelCorpus& corpus, const std::vector<int32_t>& batch, int lanes, int rows, int threads = 1) {
    TrainConfig config;
    config.lanes = lanes;
    config.micro_batch_rows = rows;
    config.attention_dropout = 0.1;
    Workers workers(threads, flush_denormals);
    Lanes l(*model_, corpus, config, 7, workers);
    Sum sum{l.gradients(parameters_.data(), batch, 3), std::vector<double>(parameters_.size())};
    for (const auto& block : l.blocks()) {
      for (size_t i = 0; i < block.size(); ++i) sum.gradient[i] += block[i];
    }
    return sum;
  }
  static void expect_near(const Sum& a, const Sum& b) {
    EXPECT_EQ(a.loss.tokens, b.loss.tokens);
    EXPECT_NEAR(a.loss.loss / b.loss.loss, 1, 1e-6);
    EXPECT_NEAR(a.loss.nll / b.loss.nll, 1, 1e-6);
    double difference = 0, size = 0;
    for (size_t i = 0; i < a.gradient.size(); ++i) {
      difference += (a.gradient[i] - b.gradient[i]) * (a.gradient[i] - b.gradient[i]);
      size += b.gradient[i] * b.gradient[i];
    }
    EXPECT_GT(size, 0);
    EXPECT_LT(std::sqrt(difference / size), 1e-6);
  }

  std::unique_ptr<EncoderDecoder> model_;
  std::vector<float> parameters_;
};

// Like 1 token of summed loss 4 and 9 tokens of summed loss 9: the loss is 13/10, not the mean of means 2.5. Here with a model's losses of
// 2 and 9 tokens (end symbols counted).
TEST_F(LanesTest, MicroBatchesAreAveragedByTheirTokensNotAsMeansOfMeans) {
  const ParallelCorpus corpus = corpus_of({1, 8});
  const Sum a = sum_of(corpus, {0}, 1, 1000), b = sum_of(corpus, {1}, 1, 1000);
  EXPECT_EQ(a.loss.tokens, 2);
  EXPECT_EQ(b.loss.tokens, 9);
  const Sum apart = sum_of(corpus, {0, 1}, 1, 9), together = sum_of(corpus, {0, 1}, 1, 1000);
  expect_near(apart, together);
  EXPECT_NEAR(apart.loss.loss, a.loss.loss + b.loss.loss, 1e-5);
  const double mean = apart.loss.loss / static_cast<double>(apart.loss.tokens), mean_of_means = (a.loss.loss / 2 + b.loss.loss / 9) / 2;
  EXPECT_GT(std::abs(mean - mean_of_means), 1e-3) << "the two sentences are too alike for the test to tell";
}

TEST_F(LanesTest, LanesAndMicroBatchesNeitherLoseNorRepeatASentence) {
  const ParallelCorpus corpus = corpus_of({3, 9, 1, 1, 7, 7, 2, 20, 5, 4, 6, 8});
  std::vector<int32_t> all(12);
  std::iota(all.begin(), all.end(), 0);
  const Sum whole = sum_of(corpus, all, 1, 1000);
  EXPECT_EQ(whole.loss.tokens, 73 + 12);
  for (const int lanes : {2, 8, 20}) {
    for (const int rows : {1, 16, 1000}) expect_near(sum_of(corpus, all, lanes, rows), whole);
  }
}

TEST_F(LanesTest, ThreadsChangeNoBit) {
  const ParallelCorpus corpus = corpus_of({3, 9, 1, 4, 7, 7, 2, 20, 5, 4, 6, 8});
  std::vector<int32_t> all(12);
  std::iota(all.begin(), all.end(), 0);
  const Sum one = sum_of(corpus, all, 8, 16, 1);
  for (const int threads : {2, 3}) {
    const Sum more = sum_of(corpus, all, 8, 16, threads);
    EXPECT_EQ(more.loss.loss, one.loss.loss);
    EXPECT_TRUE(more.gradient == one.gradient) << threads;
  }
}

TEST_F(LanesTest, AnUpdatesGradientHoldsNothingOfTheOneBefore) {
  const ParallelCorpus corpus = corpus_of({5, 7, 3, 4});
  TrainConfig config;
  config.lanes = 3;  // the second batch leaves a lane empty
  Workers workers(1, flush_denormals);
  Lanes used(*model_, corpus, config, 7, workers), fresh(*model_, corpus, config, 7, workers);
  const std::vector<int32_t> first = {0, 1, 2, 3}, second = {1, 2};
  used.gradients(parameters_.data(), first, 3);
  EXPECT_EQ(used.gradients(parameters_.data(), second, 4).loss, fresh.gradients(parameters_.data(), second, 4).loss);
  EXPECT_TRUE(used.blocks() == fresh.blocks());
}

TEST_F(LanesTest, DropoutFollowsTheUpdateAndTheSentenceAlone) {
  const ParallelCorpus corpus = corpus_of({5, 5});
  TrainConfig config;
  Workers workers(1, flush_denormals);
  Lanes lanes(*model_, corpus, config, 7, workers);
  const std::vector<int32_t> one = {0}, both = {0, 1}, other = {1};
  const double first = lanes.gradients(parameters_.data(), one, 3).loss;
  EXPECT_EQ(lanes.gradients(parameters_.data(), one, 3).loss, first);
  EXPECT_NE(lanes.gradients(parameters_.data(), one, 4).loss, first);
  EXPECT_NEAR(lanes.gradients(parameters_.data(), both, 3).loss, first + lanes.gradients(parameters_.data(), other, 3).loss, 1e-5);
}

}  // namespace
}  // namespace jumok
