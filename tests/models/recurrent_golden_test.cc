// Whole recurrent encoder-decoders against PyTorch with the same parameter files (data/recurrent/make.py): first state, step, attention and
// readout are those of the papers.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "laws.h"
#include "models/model_files.h"
#include "models/seq2seq.h"

namespace jumok {
namespace {

struct Family {
  const char* file;
  const char* preset;
  std::vector<const char*> settings;
};
void PrintTo(const Family& f, std::ostream* out) { *out << f.file; }

ModelConfig config_of(const Family& family) {
  ModelConfig c = model_preset(family.preset);
  c.source_vocabulary = c.target_vocabulary = 10;
  Settings settings = model_settings(c);
  settings.set_assignment("model.width=8", "test");
  for (const char* s : family.settings) settings.set_assignment(s, "test");
  return c;
}

// f32 against f64, logits up to 25: PyTorch's own f32 is 4e-6 away.
constexpr double kTolerance = 5e-5;

class RecurrentGolden : public testing::TestWithParam<Family> {
 protected:
  RecurrentGolden() {
    const std::filesystem::path folder = std::filesystem::path(JUMOK_TEST_DATA) / "recurrent";
    read_parameters(SafetensorsFile::read(folder / (std::string(GetParam().file) + ".safetensors")), model_.layout(), block_.data());
    const auto golden = nlohmann::json::parse(read_file(folder / "golden.json")).at(GetParam().file);
    for (const auto& pair : golden) {
      pairs_.source.push_back(pair.at("source").get<std::vector<int32_t>>());
      pairs_.target.push_back(pair.at("target").get<std::vector<int32_t>>());
      logits_.push_back(pair.at("logits").get<std::vector<std::vector<double>>>());
    }
  }

  const Seq2Seq model_{config_of(GetParam())};
  std::vector<float> block_ = std::vector<float>(model_.layout().size());
  Pairs pairs_;
  std::vector<std::vector<std::vector<double>>> logits_;  // a pair each, [T, V]
};

TEST_P(RecurrentGolden, StepsHaveTheLogitsOfPyTorchWithTheSameFile) {
  const PackedRows source = pack_source(pairs_.source);
  const auto stepper = model_.start(block_.data(), source);
  ASSERT_EQ(logits_.size(), 2u);
  const std::vector<int32_t> rows = {0, 1};
  for (size_t t = 0; t < std::max(logits_[0].size(), logits_[1].size()); ++t) {
    std::vector<int32_t> symbols;  // after the end of the shorter target anything
    for (const auto& target : pairs_.target) symbols.push_back(t == 0 ? kStart : t <= target.size() ? target[t - 1] : kEnd);
    const std::span<float> found = stepper->step(rows, symbols);
    ASSERT_EQ(found.size(), 20u);
    for (size_t s = 0; s < 2; ++s) {
      if (t >= logits_[s].size()) continue;
      for (size_t v = 0; v < 10; ++v) EXPECT_NEAR(found[10 * s + v], logits_[s][t][v], kTolerance) << "pair " << s << ", step " << t;
    }
  }
}

TEST_P(RecurrentGolden, WholeTargetsHaveTheProbabilitiesOfPyTorchWithTheSameFile) {
  const Packed packed(pairs_);
  Arena arena;
  Context context{arena, block_.data()};
  std::vector<float> nll(packed.target.labels.size());
  model_.nll(context, packed.batch(), nll.data());
  ASSERT_EQ(nll.size(), logits_[0].size() + logits_[1].size());
  for (size_t s = 0; s < 2; ++s) {
    for (size_t t = 0; t < logits_[s].size(); ++t) {
      const int32_t row = packed.target.input.begin[s] + static_cast<int32_t>(t);
      double sum = 0;
      for (const double logit : logits_[s][t]) sum += std::exp(logit);
      EXPECT_NEAR(nll[row], std::log(sum) - logits_[s][t][packed.target.labels[row]], kTolerance) << "pair " << s << ", step " << t;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RecurrentGolden,
    testing::Values(Family{"bahdanau", "rnn-bahdanau", {}},
                    Family{"bahdanau-deep",
                           "rnn-bahdanau",
                           {"rnn.reset-after=false", "encoder.layers=2", "decoder.layers=2", "encoder.width=6", "attention.width=5",
                            "decoder.readout=linear"}},
                    Family{"luong-feeding", "rnn-luong-general", {"encoder.layers=2", "decoder.layers=2", "decoder.input-feeding=true"}},
                    Family{"cho",
                           "rnn-none",
                           {"attention.score=none-every-step", "decoder.readout=maxout", "decoder.first-state=bridge", "rnn.cell=gru",
                            "rnn.reset-after=false", "encoder.reversed=false"}},
                    Family{"sutskever", "rnn-none", {}},
                    Family{"local-p", "rnn-luong-general", {"attention.window=local-p", "attention.half-width=2"}},
                    Family{"local-p-bridge",
                           "rnn-luong-general",
                           {"attention.window=local-p", "attention.half-width=3", "encoder.width=6", "decoder.first-state=bridge",
                            "embedding.tying=none"}}));

}  // namespace
}  // namespace jumok
