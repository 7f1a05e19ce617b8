#include "models/language_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "laws.h"
#include "models/model_files.h"

namespace jumok {
namespace {

const std::filesystem::path kData = std::filesystem::path(JUMOK_TEST_DATA) / "language-model";

ModelConfig small_config(Norm norm, Positions positions, Tying tying) {
  ModelConfig c = empty_config(Architecture::kLanguageModel);
  c.decoder_layers = 2;
  c.width = 16;
  c.heads = 2;
  c.feed_forward_width = 24;
  c.norm = norm;
  c.positions = positions;
  c.tying = tying;
  c.max_positions = 32;
  c.source_vocabulary = c.target_vocabulary = 11;
  return c;
}

// Texts as a corpus of one side gives them: every source is empty.
Pairs random_texts(int count, int longest, uint64_t seed) {
  Pairs p = random_pairs(count, longest, 11, seed);
  for (auto& source : p.source) source.clear();
  return p;
}

// Logits [T, V] of one text after the start symbol, fed step by step.
std::vector<std::vector<float>> step_logits(const LanguageModel& model, const float* parameters, const std::vector<int32_t>& text) {
  const Sentences no_source(1);
  const auto stepper = model.start(parameters, pack_source(no_source));
  std::vector<std::vector<float>> rows;
  std::vector<int32_t> symbols = {kStart};
  symbols.insert(symbols.end(), text.begin(), text.end());
  for (const int32_t symbol : symbols) {
    const int32_t parent = 0;
    const auto logits = stepper->step({&parent, 1}, {&symbol, 1});
    rows.emplace_back(logits.begin(), logits.end());
  }
  return rows;
}

class LanguageModelVariants : public testing::TestWithParam<std::tuple<Norm, Positions, Tying>> {
 protected:
  LanguageModel model() const {
    const auto [norm, positions, tying] = GetParam();
    return LanguageModel(small_config(norm, positions, tying));
  }
};

TEST_P(LanguageModelVariants, EveryParametersGradientAgreesWithFiniteDifferencesWithDropoutOn) {
  expect_gradients(model(), Packed(random_texts(4, 6, 3)));
}
TEST_P(LanguageModelVariants, GradientsAddOverMicroBatches) { expect_gradients_add(model(), random_texts(5, 6, 4)); }
TEST_P(LanguageModelVariants, StepsWithCacheEqualTheWholeText) { expect_steps_equal_whole_target(model(), random_texts(6, 20, 6)); }
TEST_P(LanguageModelVariants, ATextsBitsDoNotDependOnItsBatch) { expect_bits_do_not_depend_on_batch(model(), random_texts(9, 12, 8)); }

// The probability of a symbol follows from those before it: bits of a prefix are the same whatever comes after.
TEST_P(LanguageModelVariants, WhatComesLaterChangesNoEarlierBit) {
  const LanguageModel m = model();
  const std::vector<float> block = random_parameters(m, 3);
  const auto nll = [&](const std::vector<int32_t>& text) {
    const Packed packed({{{}}, {text}});
    Arena arena;
    Context context{arena, block.data()};
    std::vector<float> values(packed.target.labels.size());
    m.nll(context, packed.batch(), values.data());
    return values;
  };
  const auto a = nll({3, 4, 5, 6, 7, 8, 9, 10}), b = nll({3, 4, 5, 6, 10, 3, 3, 3});
  EXPECT_EQ(0, std::memcmp(a.data(), b.data(), 4 * sizeof(float)));
  EXPECT_NE(a[5], b[5]);
}

TEST_P(LanguageModelVariants, TheSourceIsNotRead) {
  const LanguageModel m = model();
  const std::vector<float> block = random_parameters(m, 3);
  const Packed none({{{}}, {{3, 4}}}), some({{{5, 6, 7}}, {{3, 4}}});
  Arena arena;
  Context context{arena, block.data()};
  std::vector<float> a(3), b(3);
  m.nll(context, none.batch(), a.data());
  m.nll(context, some.batch(), b.data());
  EXPECT_EQ(a, b);
}

// Prompts in one pass, then steps, against one symbol at a time: logits of size 3, so f32's rounding stays below 1e-5. A prompt's bits, and
// those of what follows, are its own whatever stands beside it.
TEST_P(LanguageModelVariants, PromptsReadInOnePassAreTheirSteps) {
  const LanguageModel m = model();
  const std::vector<float> block = random_parameters(m, 3);
  const std::vector<std::vector<int32_t>> texts = {{1, 3, 4, 5, 6, 7, 8, 9, 10, 3}, {1}, {1, 9, 9, 4}, {1, 5}},
                                          after = {{4, 6}, {7, 3}, {3, 3}, {10, 8}};
  const auto run = [&](const std::vector<std::vector<int32_t>>& prompts, const std::vector<std::vector<int32_t>>& next) {
    const auto stepper = m.start(block.data(), pack_source(std::vector<std::vector<int32_t>>(prompts.size())));
    std::vector<std::vector<float>> logits(prompts.size());
    const auto keep = [&](std::span<const float> rows) {
      ASSERT_EQ(rows.size(), prompts.size() * 11);
      for (size_t s = 0; s < prompts.size(); ++s) logits[s].insert(logits[s].end(), rows.begin() + 11 * s, rows.begin() + 11 * (s + 1));
    };
    keep(stepper->read_prompts(prompts));
    std::vector<int32_t> parents(prompts.size());
    std::iota(parents.begin(), parents.end(), 0);
    for (size_t t = 0; t < 2; ++t) {
      std::vector<int32_t> symbols;
      for (const auto& n : next) symbols.push_back(n[t]);
      keep(stepper->step(parents, symbols));
    }
    return logits;
  };
  const auto together = run(texts, after);
  for (size_t s = 0; s < texts.size(); ++s) {
    EXPECT_EQ(run({texts[s]}, {after[s]})[0], together[s]) << "text " << s;
    std::vector<int32_t> whole = texts[s];
    whole.insert(whole.end(), after[s].begin(), after[s].end());
    const auto steps = step_logits(m, block.data(), {whole.begin() + 1, whole.end()});
    for (size_t t = 0; t < 3; ++t) {
      for (size_t v = 0; v < 11; ++v) EXPECT_NEAR(together[s][11 * t + v], steps[texts[s].size() - 1 + t][v], 1e-5) << s << ", " << t;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LanguageModelVariants,
                         testing::Combine(testing::Values(Norm::kPre, Norm::kPost),
                                          testing::Values(Positions::kSinusoidal, Positions::kLearned, Positions::kNone),
                                          testing::Values(Tying::kAll, Tying::kNone)));

struct Ablation {
  const char* name;
  std::vector<const char*> settings;
};
void PrintTo(const Ablation& a, std::ostream* out) { *out << a.name; }

class LanguageModelAblations : public testing::TestWithParam<Ablation> {
 protected:
  LanguageModel model() const {
    ModelConfig c = small_config(Norm::kPre, Positions::kSinusoidal, Tying::kAll);
    Settings settings = model_settings(c);
    for (const char* s : GetParam().settings) settings.set_assignment(s, "test");
    return LanguageModel(c);
  }
};

TEST_P(LanguageModelAblations, GradientsStepsAndBits) {
  expect_gradients(model(), Packed(random_texts(4, 6, 3)));
  expect_steps_equal_whole_target(model(), random_texts(6, 9, 6));
  expect_bits_do_not_depend_on_batch(model(), random_texts(9, 12, 8));
}

INSTANTIATE_TEST_SUITE_P(
    All, LanguageModelAblations,
    testing::Values(Ablation{"no_scale", {"attention.scale=false"}},
                    Ablation{"no_projection",
                             {"attention.project-query=false", "attention.project-key=false", "attention.project-value=false"}},
                    Ablation{"key_is_value", {"attention.sharing=key-is-value"}}, Ablation{"one_projection", {"attention.sharing=one"}}),
    [](const auto& info) { return info.param.name; });

// The same parameter file in PyTorch (data/language-model/make.py): f32 against f64, logits of size 10.
class LanguageModelGolden : public testing::TestWithParam<std::tuple<const char*, Norm, Positions, Tying>> {};

TEST_P(LanguageModelGolden, LogitsAreThoseOfPyTorchWithTheSameFile) {
  const auto [name, norm, positions, tying] = GetParam();
  const LanguageModel model(small_config(norm, positions, tying));
  std::vector<float> block(model.layout().size());
  read_parameters(SafetensorsFile::read(kData / (std::string(name) + ".safetensors")), model.layout(), block.data());
  const auto golden = nlohmann::json::parse(read_file(kData / "golden.json")).at(name);
  ASSERT_EQ(golden.size(), 4u);
  for (const auto& example : golden) {
    const std::vector<std::vector<double>> expected = example.at("logits");
    const auto found = step_logits(model, block.data(), example.at("text"));
    ASSERT_EQ(found.size(), expected.size());
    for (size_t t = 0; t < found.size(); ++t) {
      ASSERT_EQ(found[t].size(), expected[t].size());
      for (size_t v = 0; v < found[t].size(); ++v) EXPECT_NEAR(found[t][v], expected[t][v], 1e-4) << "position " << t << ", symbol " << v;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LanguageModelGolden,
                         testing::Values(std::tuple{"pre-sinusoidal-tied", Norm::kPre, Positions::kSinusoidal, Tying::kAll},
                                         std::tuple{"post-learned-untied", Norm::kPost, Positions::kLearned, Tying::kNone}));

// More rows than one pass takes.
TEST(LanguageModel, ManyPromptsHaveTheBitsTheyHaveAlone) {
  const LanguageModel m(small_config(Norm::kPre, Positions::kSinusoidal, Tying::kAll));
  const std::vector<float> block = random_parameters(m, 3);
  Rng rng(6);
  std::vector<std::vector<int32_t>> prompts(90);
  for (auto& p : prompts) {
    p = {kStart};
    for (uint64_t n = 10 + rng.below(20); n > 0; --n) p.push_back(static_cast<int32_t>(3 + rng.below(8)));
  }
  const auto run = [&](const std::vector<std::vector<int32_t>>& some) {
    const auto stepper = m.start(block.data(), pack_source(std::vector<std::vector<int32_t>>(some.size())));
    const std::span<float> first = stepper->read_prompts(some);
    std::vector<float> all(first.begin(), first.end());
    std::vector<int32_t> parents(some.size()), symbols(some.size(), 5);
    std::iota(parents.begin(), parents.end(), 0);
    const std::span<float> second = stepper->step(parents, symbols);
    all.insert(all.end(), second.begin(), second.end());
    return all;
  };
  const std::vector<float> together = run(prompts);
  for (size_t s = 0; s < prompts.size(); ++s) {
    const std::vector<float> alone = run({prompts[s]});
    EXPECT_EQ(0, std::memcmp(alone.data(), &together[11 * s], 11 * sizeof(float))) << s;
    EXPECT_EQ(0, std::memcmp(&alone[11], &together[11 * (prompts.size() + s)], 11 * sizeof(float))) << s;
  }
}

TEST(LanguageModel, HasSettingsOfItsOwnAndNoneOfAnEncoder) {
  ModelConfig c = empty_config(Architecture::kLanguageModel);
  std::vector<std::string> keys;
  const Settings settings = model_settings(c);
  for (const Setting& s : settings.all()) keys.push_back(s.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"decoder.layers", "model.width", "attention.heads", "feed-forward.width", "model.norm",
                                            "positions.kind", "positions.max", "attention.scale", "attention.project-query",
                                            "attention.project-key", "attention.project-value", "attention.sharing", "embedding.tying"}));
}

// D the width, F the feed-forward width, L layers, V symbols: a layer has 4 D² + 4 D (attention), 2 D F + F + D (feed-forward), 4 D
// (norms).
TEST(LanguageModel, PresetsHaveTheParameterCountsWorkedOutByHand) {
  const auto count = [](const char* preset) {
    ModelConfig c = model_preset(preset);
    c.source_vocabulary = c.target_vocabulary = 1000;
    return make_model(c)->layout().count();
  };
  // 4 (4 · 16384 + 2 · 65536 + 9 · 128 + 512) = 4 · 198272, the last norm 2 · 128
  EXPECT_EQ(count("lm-tiny"), 4 * 198272 + 256 + 1000 * 128);
  // 12 (4 · 147456 + 2 · 589824 + 9 · 384 + 1536) = 12 · 1774464, the last norm 2 · 384
  EXPECT_EQ(count("lm-small"), 12 * 1774464 + 768 + 1000 * 384);
}

TEST(LanguageModel, ConfigFilesSayWhatItIs) {
  EXPECT_EQ(architecture_name(Architecture::kLanguageModel), "language-model");
  EXPECT_EQ(parse_architecture("language-model"), Architecture::kLanguageModel);
  EXPECT_EQ(model_preset("lm-tiny").architecture, Architecture::kLanguageModel);
  EXPECT_EQ(model_preset("lm-small").architecture, Architecture::kLanguageModel);
}

}  // namespace
}  // namespace jumok
