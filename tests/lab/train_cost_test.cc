#include "lab/train_cost.h"

#include <gtest/gtest.h>

namespace jumok {
namespace {

PartWork part(const UpdateWork& work, Part p) { return work.parts[static_cast<size_t>(p)]; }

// Three source and two target symbols.
ParallelCorpus one_pair() {
  const std::vector<std::vector<int32_t>> source = {{3, 4, 5}}, target = {{6, 7}};
  return ParallelCorpus::from_symbols(source, target);
}

// With the end symbols S = 4, T = 3; one layer a side, D = 8, H = 2, F = 16, V = 10.
TEST(UpdateWork, IsWhatAHandCounts) {
  ModelConfig config = model_preset("transformer-tiny");
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 8;
  config.heads = 2;
  config.feed_forward_width = 16;
  config.source_vocabulary = config.target_vocabulary = 10;
  const auto model = make_model(config);
  const ParallelCorpus corpus = one_pair();
  const UpdateWork work = work_of_update(*model, corpus, 4);

  // 4 matrices of attention, 2 of the feed-forward layer; in the decoder 4 more.
  EXPECT_EQ(count_product_weights(*model), 3 * 4 * 8 * 8 + 2 * 2 * 8 * 16 + 10 * 8);
  // The source's 4 rows: the encoder, and the keys and values of the attention over it. The target's 3: the rest.
  EXPECT_EQ(part(work, Part::kProducts).flop, 6 * (4 * (4 * 8 * 8 + 2 * 8 * 16 + 2 * 8 * 8) + 3 * (6 * 8 * 8 + 2 * 8 * 16)));
  EXPECT_EQ(part(work, Part::kOutputLoss).flop, 6 * 3 * 10 * 8);
  EXPECT_EQ(part(work, Part::kOutputLoss).exps, 3 * 10);
  // 4 × 4 pairs in the encoder, 1 + 2 + 3 in the decoder's past, 3 × 4 over the source.
  EXPECT_EQ(part(work, Part::kAttention).flop, 14 * 8 * (16 + 6 + 12));
  EXPECT_EQ(part(work, Part::kAttention).exps, 2 * 2 * (16 + 6 + 12));
  // Two norms in the encoder's layer and one at its end, three and one in the decoder.
  EXPECT_EQ(part(work, Part::kNorm).floats, 9 * 8 * (3 * 4 + 4 * 3));
  EXPECT_EQ(part(work, Part::kActivation).floats, 5 * 16 * (4 + 3));
  EXPECT_EQ(part(work, Part::kEmbedding).floats, 5 * 8 * (4 + 3));
  EXPECT_EQ(work.optimiser.floats, (4 + 8) * static_cast<double>(model->layout().size()));
}

TEST(UpdateWork, SaysNothingOfAnAttentionItDoesNotKnow) {
  const ParallelCorpus corpus = one_pair();
  for (const char* preset : {"rnn-bahdanau", "transformer-tiny"}) {
    ModelConfig config = model_preset(preset);
    config.head_options.score = Score::kAdditive;
    config.source_vocabulary = config.target_vocabulary = 10;
    const UpdateWork work = work_of_update(*make_model(config), corpus, 1);
    EXPECT_EQ(part(work, Part::kAttention).flop, 0) << preset;
    EXPECT_GT(part(work, Part::kProducts).flop, 0) << preset;
  }
}

TEST(PartWork, TakesItsTimeAtEachRateInTurn) {
  MachineRoof roof;
  roof.fma = 100, roof.exp = 10, roof.read = 8;
  EXPECT_DOUBLE_EQ((PartWork{50, 20, 6}).seconds(roof), 0.5 + 2 + 3);
}

}  // namespace
}  // namespace jumok
