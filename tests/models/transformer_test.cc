#include "models/transformer.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "laws.h"

namespace jumok {
namespace {

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
  expect_gradients(Transformer(config()), Packed(random_pairs(4, 6, 11, 3)));
}

TEST_P(TransformerVariants, GradientsAddOverMicroBatches) { expect_gradients_add(Transformer(config()), random_pairs(5, 6, 11, 4)); }

TEST_P(TransformerVariants, StepsWithCacheEqualTheWholeTarget) {
  expect_steps_equal_whole_target(Transformer(config()), random_pairs(6, 9, 11, 6));
}

TEST_P(TransformerVariants, ASentencesBitsDoNotDependOnItsBatch) {
  expect_bits_do_not_depend_on_batch(Transformer(config()), random_pairs(9, 12, 11, 8));
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

// The same laws for every part taken away or replaced.
struct Ablation {
  const char* name;
  std::vector<const char*> settings;
};
void PrintTo(const Ablation& a, std::ostream* out) { *out << a.name; }

class Ablations : public testing::TestWithParam<Ablation> {
 protected:
  Transformer model() const {
    ModelConfig c = small_config(Norm::kPre);
    Settings settings = model_settings(c);
    for (const char* s : GetParam().settings) settings.set_assignment(s, "test");
    return Transformer(c);
  }
};

TEST_P(Ablations, EveryParametersGradientAgreesWithFiniteDifferencesWithDropoutOn) {
  expect_gradients(model(), Packed(random_pairs(4, 6, 11, 3)));
}
TEST_P(Ablations, StepsWithCacheEqualTheWholeTarget) { expect_steps_equal_whole_target(model(), random_pairs(6, 9, 11, 6)); }
TEST_P(Ablations, ASentencesBitsDoNotDependOnItsBatch) { expect_bits_do_not_depend_on_batch(model(), random_pairs(9, 12, 11, 8)); }

INSTANTIATE_TEST_SUITE_P(
    All, Ablations,
    testing::Values(Ablation{"no_scale", {"attention.scale=false"}}, Ablation{"no_query_projection", {"attention.project-query=false"}},
                    Ablation{"no_key_projection", {"attention.project-key=false"}},
                    Ablation{"no_value_projection", {"attention.project-value=false"}},
                    Ablation{"no_projection",
                             {"attention.project-query=false", "attention.project-key=false", "attention.project-value=false"}},
                    Ablation{"key_is_value", {"attention.sharing=key-is-value"}}, Ablation{"one_projection", {"attention.sharing=one"}},
                    Ablation{"additive_cross", {"cross-attention.score=additive"}},
                    Ablation{"additive_cross_one_projection", {"cross-attention.score=additive", "attention.sharing=one"}},
                    Ablation{"dot_cross", {"cross-attention.score=dot"}},
                    Ablation{"general_cross", {"cross-attention.score=general", "attention.heads=1"}}),
    [](const auto& info) { return info.param.name; });

TEST(Transformer, AnAblationThatCannotWorkIsAnsweredWithTheNearestThatDoes) {
  const auto message = [](std::vector<const char*> settings) -> std::string {
    ModelConfig c = small_config(Norm::kPre);
    Settings table = model_settings(c);
    for (const char* s : settings) table.set_assignment(s, "test");
    try {
      c.validate();
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(message({"attention.sharing=one", "attention.project-key=false"}).find("attention.sharing=separate"), std::string::npos);
  EXPECT_NE(message({"attention.sharing=one", "cross-attention.score=general"}).find("key-is-value"), std::string::npos);
  EXPECT_NE(message({"attention.sharing=key-is-value", "cross-attention.score=dot"}).find("attention.sharing=separate"), std::string::npos);
  EXPECT_EQ(message({"cross-attention.score=dot"}), "accepted");
}

// The tables of docs/mechanisms.md: what is in front of a cross-attention.
TEST(Transformer, EveryScoreAndSharingHasTheProjectionsOfItsRow) {
  struct Row {
    std::vector<const char*> settings;
    std::vector<std::string> cross, self;
  };
  const std::vector<std::string> all = {"key", "query", "value"};
  const Row rows[] = {
      {{}, all, all},
      {{"attention.sharing=key-is-value"}, {"key", "query"}, {"key", "query"}},
      {{"attention.sharing=one"}, {"shared"}, {"shared"}},
      {{"attention.project-query=false"}, {"key", "value"}, {"key", "value"}},
      {{"attention.project-key=false"}, {"query", "value"}, {"query", "value"}},
      {{"attention.project-value=false"}, {"key", "query"}, {"key", "query"}},
      {{"cross-attention.score=additive"}, {"key", "query", "score", "value"}, all},
      {{"cross-attention.score=additive", "attention.sharing=key-is-value"}, {"key", "query", "score"}, {"key", "query"}},
      {{"cross-attention.score=additive", "attention.sharing=one"}, {"score", "shared"}, {"shared"}},
      {{"cross-attention.score=general"}, {"key", "value"}, all},
      {{"cross-attention.score=general", "attention.sharing=key-is-value"}, {"key"}, {"key", "query"}},
      {{"cross-attention.score=general", "attention.project-query=false"}, {"key", "value"}, {"key", "value"}},
      {{"cross-attention.score=general", "attention.project-key=false"}, {"value"}, {"query", "value"}},
      {{"cross-attention.score=dot"}, {"value"}, all},
      {{"cross-attention.score=dot", "attention.project-key=false"}, {"value"}, {"query", "value"}},
      {{"cross-attention.score=dot", "attention.project-value=false"}, {}, {"key", "query"}},
  };
  for (const Row& row : rows) {
    ModelConfig c = small_config(Norm::kPre);
    Settings settings = model_settings(c);
    for (const char* s : row.settings) settings.set_assignment(s, "test");
    const auto parts = [model = Transformer(c)](const std::string& prefix) {
      std::set<std::string> names;
      for (const auto& e : model.layout().entries()) {
        if (e.name.starts_with(prefix)) names.insert(e.name.substr(prefix.size(), e.name.find('.', prefix.size()) - prefix.size()));
      }
      EXPECT_EQ(names.erase("output"), 1u) << prefix;
      return std::vector<std::string>(names.begin(), names.end());
    };
    EXPECT_EQ(parts("decoder.layers.1.cross_attention."), row.cross) << testing::PrintToString(row.settings);
    for (const char* self : {"encoder.layers.1.self_attention.", "decoder.layers.1.self_attention."}) {
      EXPECT_EQ(parts(self), row.self) << testing::PrintToString(row.settings);
    }
  }
}

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
