#include "models/transformer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/rng.h"
#include "gradient_check.h"

namespace jumok {
namespace {

using Sentences = std::vector<std::vector<int32_t>>;

ModelConfig small_config(Norm norm) {
  ModelConfig c;
  c.encoder_layers = c.decoder_layers = 2;
  c.width = 16;
  c.heads = 2;
  c.feed_forward_width = 24;
  c.norm = norm;
  c.max_positions = 64;
  c.source_vocabulary = c.target_vocabulary = 11;
  return c;
}

struct Pairs {
  Sentences source, target;
};

Pairs random_pairs(int count, int longest, int vocabulary, uint64_t seed) {
  Rng rng(seed);
  Pairs p;
  for (int i = 0; i < count; ++i) {
    for (Sentences* side : {&p.source, &p.target}) {
      std::vector<int32_t> s(1 + rng.below(longest));
      for (auto& id : s) id = static_cast<int32_t>(3 + rng.below(vocabulary - 3));
      side->push_back(s);
    }
  }
  return p;
}

std::vector<float> random_parameters(const EncoderDecoder& model, uint64_t seed) {
  std::vector<float> block(model.layout().size());
  model.layout().initialise(block.data(), seed);
  Rng rng(seed + 1);  // norms and biases off their neutral values too, so that their gradients are tested where they matter
  for (const auto& e : model.layout().entries()) {
    if (!e.is_vector) continue;
    for (int64_t i = 0; i < e.parameter.columns; ++i) block[e.parameter.offset + i] += static_cast<float>(0.1 * rng.normal());
  }
  return block;
}

struct Packed {
  PackedRows source;
  PackedTarget target;
  std::vector<uint32_t> source_keys, target_keys;
  explicit Packed(const Pairs& p) : source(pack_source(p.source)), target(pack_target(p.target)) {
    source_keys = row_keys(source, 1, 2, Side::kSource);
    target_keys = row_keys(target.input, 1, 2, Side::kTarget);
  }
  PairBatch batch(double dropout = 0) const {
    return {source,
            target,
            dropout > 0 ? source_keys : std::span<const uint32_t>(),
            dropout > 0 ? target_keys : std::span<const uint32_t>(),
            dropout,
            dropout,
            0.1};
  }
};

class TransformerVariants : public testing::TestWithParam<std::tuple<Norm, Positions, Tying>> {
 protected:
  ModelConfig config() const {
    ModelConfig c = small_config(std::get<0>(GetParam()));
    c.positions = std::get<1>(GetParam());
    c.tying = std::get<2>(GetParam());
    return c;
  }
};

TEST_P(TransformerVariants, EveryParametersGradientAgreesWithFiniteDifferencesWithDropoutOn) {
  const Transformer model(config());
  const Packed packed(random_pairs(4, 6, 11, 3));
  std::vector<float> block = random_parameters(model, 5), gradient(block.size());
  Arena arena;
  const auto loss = [&] {
    arena.reset();
    Context context{arena, block.data()};
    return model.loss(context, packed.batch(0.1)).loss;
  };
  Tape tape;
  Context context{arena, block.data(), &tape, gradient.data()};
  const OutputLoss out = model.loss(context, packed.batch(0.1));
  tape.backward();
  EXPECT_DOUBLE_EQ(out.loss, loss());
  for (const auto& e : model.layout().entries()) {
    const Parameter& p = e.parameter;
    SCOPED_TRACE(e.name);
    expect_directional_gradient(block, gradient, p.offset, p.offset + p.rows * p.stride, loss, 3e-3, 2e-2, 17);
  }
}

TEST_P(TransformerVariants, GradientsAddOverMicroBatches) {
  const Transformer model(config());
  const Pairs pairs = random_pairs(5, 6, 11, 4);
  std::vector<float> block = random_parameters(model, 5), whole(block.size()), parts(block.size());
  const auto run = [&](const Pairs& p, std::vector<float>& gradient) {
    const Packed packed(p);
    Arena arena;
    Tape tape;
    Context context{arena, block.data(), &tape, gradient.data()};
    const OutputLoss out = model.loss(context, packed.batch());
    tape.backward();
    return out;
  };
  const OutputLoss all = run(pairs, whole);
  double loss = 0;
  int64_t tokens = 0;
  for (size_t i = 0; i < pairs.source.size(); ++i) {
    const OutputLoss one = run({{pairs.source[i]}, {pairs.target[i]}}, parts);
    loss += one.loss;
    tokens += one.tokens;
  }
  EXPECT_EQ(tokens, all.tokens);
  EXPECT_NEAR(loss, all.loss, 1e-4);
  double worst = 0, largest = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    worst = std::max(worst, std::abs(double(whole[i]) - parts[i]));
    largest = std::max(largest, std::abs(double(whole[i])));
  }
  EXPECT_LT(worst, 1e-5 * largest);
}

// Logits of every position by steps with the cache, against the negative log-probabilities of the whole-target pass.
TEST_P(TransformerVariants, StepsWithCacheEqualTheWholeTarget) {
  const Transformer model(config());
  const Pairs pairs = random_pairs(6, 9, 11, 6);
  const std::vector<float> block = random_parameters(model, 7);
  const Packed packed(pairs);
  Arena arena;
  Context context{arena, block.data()};
  std::vector<float> nll(packed.target.labels.size());
  model.nll(context, packed.batch(), nll.data());

  auto stepper = model.start(block.data(), packed.source);
  std::vector<int32_t> alive(pairs.target.size()), symbols;
  for (size_t i = 0; i < alive.size(); ++i) alive[i] = static_cast<int32_t>(i);
  std::vector<int32_t> parents = alive;
  for (int t = 0; !alive.empty(); ++t) {
    symbols.clear();
    for (const int32_t s : alive) symbols.push_back(packed.target.input.ids[packed.target.input.begin[s] + t]);
    const std::span<float> logits = stepper->step(parents, symbols);
    const int v = stepper->vocabulary();
    std::vector<int32_t> next, next_parents;
    for (size_t r = 0; r < alive.size(); ++r) {
      const int row = packed.target.input.begin[alive[r]] + t;
      double sum = 0, top = -1e30;
      for (int c = 0; c < v; ++c) top = std::max(top, double(logits[r * v + c]));
      for (int c = 0; c < v; ++c) sum += std::exp(logits[r * v + c] - top);
      EXPECT_NEAR(top + std::log(sum) - logits[r * v + packed.target.labels[row]], nll[row], 1e-5)
          << "sentence " << alive[r] << ", step " << t;
      if (t + 1 < packed.target.input.length[alive[r]]) {
        next.push_back(alive[r]);
        next_parents.push_back(static_cast<int32_t>(r));
      }
    }
    alive = next;
    parents = next_parents;
  }
}

TEST_P(TransformerVariants, ASentencesBitsDoNotDependOnItsBatch) {
  const Transformer model(config());
  Pairs pairs = random_pairs(9, 12, 11, 8);
  const std::vector<float> block = random_parameters(model, 9);
  const Packed together(pairs);
  Arena arena;
  Context context{arena, block.data()};
  std::vector<float> all(together.target.labels.size());
  model.nll(context, together.batch(), all.data());
  for (size_t i = 0; i < pairs.source.size(); ++i) {
    const Packed alone({{pairs.source[i]}, {pairs.target[i]}});
    std::vector<float> one(alone.target.labels.size());
    model.nll(context, alone.batch(), one.data());
    EXPECT_EQ(0, std::memcmp(one.data(), &all[together.target.input.begin[i]], one.size() * sizeof(float))) << "sentence " << i;
  }
}

TEST_P(TransformerVariants, ReturnedWeightsSumToOneAndRespectTheFuture) {
  const Transformer model(config());
  const Packed packed(random_pairs(3, 7, 11, 8));
  const std::vector<float> block = random_parameters(model, 9);
  Arena arena;
  Context context{arena, block.data()};
  AttentionMaps maps;
  PairBatch batch = packed.batch();
  batch.maps = &maps;
  std::vector<float> nll(packed.target.labels.size());
  model.nll(context, batch, nll.data());
  ASSERT_EQ(maps.maps.size(), 2u + 2u * 2u);
  for (const auto& map : maps.maps) {
    const bool causal = map.name.find("decoder") == 0 && map.name.find("self") != std::string::npos;
    const bool from_source = map.name.find("encoder") == 0;
    ASSERT_EQ(map.weights.size(), 3u * 2u);
    for (size_t i = 0; i < map.weights.size(); ++i) {
      const size_t b = i / 2;
      const int rows = from_source ? packed.source.length[b] : packed.target.input.length[b];
      const int columns = causal ? rows : packed.source.length[b];
      ASSERT_EQ(map.weights[i].size(), size_t(rows) * columns) << map.name;
      for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int c = 0; c < columns; ++c) {
          sum += map.weights[i][r * columns + c];
          if (causal && c > r) {
            EXPECT_EQ(map.weights[i][r * columns + c], 0.0f) << map.name;
          }
        }
        EXPECT_NEAR(sum, 1, 1e-6) << map.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransformerVariants,
                         testing::Values(std::tuple{Norm::kPre, Positions::kSinusoidal, Tying::kAll},
                                         std::tuple{Norm::kPost, Positions::kLearned, Tying::kTargetOutput},
                                         std::tuple{Norm::kPost, Positions::kNone, Tying::kNone}));

TEST(Transformer, ATargetOutsideTheVocabularyIsRefusedBeforeAnyGradient) {
  const Transformer model(small_config(Norm::kPre));
  for (const int32_t bad : {-4, 11, 2147483647}) {
    Packed packed({{{3, 4}}, {{5, 6}}});
    packed.target.labels[1] = bad;
    std::vector<float> block = random_parameters(model, 1), gradient(block.size());
    Arena arena;
    Tape tape;
    Context context{arena, block.data(), &tape, gradient.data()};
    EXPECT_THROW(model.loss(context, packed.batch()), Error);
    EXPECT_TRUE(std::all_of(gradient.begin(), gradient.end(), [](float g) { return g == 0; }));
  }
}

TEST(Transformer, HeadsMustDivideTheWidth) {
  ModelConfig c = small_config(Norm::kPre);
  c.heads = 3;
  EXPECT_THROW(Transformer{c}, Error);
}

}  // namespace
}  // namespace jumok
