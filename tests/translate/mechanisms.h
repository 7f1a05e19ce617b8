// Every mechanism of the table, each as a little model of random parameters: what the laws of translation are shown on.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "jumok/aligner.h"
#include "jumok/translator.h"
#include "tiny_model.h"

namespace jumok {

struct Mechanism {
  const char* name;
  const char* preset;
  std::vector<const char*> settings;
};
inline void PrintTo(const Mechanism& m, std::ostream* out) { *out << m.name; }
inline std::string mechanism_name(const testing::TestParamInfo<Mechanism>& info) { return info.param.name; }

// Of width 8, in this folder. Sources of 4095 symbols have positions. The end symbol's output weights are several times as large as the
// others', so that in some contexts it is likely: with parameters as they come hardly a sentence ends.
inline void write_mechanism(const Mechanism& m, const std::filesystem::path& folder) {
  ModelConfig config = model_preset(m.preset);
  config.width = 8;
  config.feed_forward_width = 16;
  config.max_positions = 4096;
  if (config.architecture == Architecture::kTransformer) config.encoder_layers = config.decoder_layers = config.heads = 2;
  Settings settings = model_settings(config);
  for (const char* s : m.settings) settings.set_assignment(s, m.name);
  write_random_model(config, folder, 1);
  const LoadedModel model = load_model(folder);
  std::vector<float> block(model.parameters->data(), model.parameters->data() + model.parameters->size());
  const Parameter& output = model.model->output_weight();
  for (int64_t c = 0; c < output.columns; ++c) block[static_cast<size_t>(output.offset + kEnd * output.stride + c)] *= 8;
  write_parameters(folder / "model.safetensors", model.model->layout(), block.data());
}

// The model of the parameter, opened once for all tests of a suite.
class EachMechanism : public testing::TestWithParam<Mechanism> {
 protected:
  EachMechanism() : model_(opened_[GetParam().name]) {
    if (model_.one != nullptr) return;
    write_mechanism(GetParam(), model_.folder.path());
    model_.one = std::make_unique<const Translator>(model_.folder.path(), TranslatorOptions{.threads = 1, .log = {}});
  }
  static void TearDownTestSuite() { opened_.clear(); }

  const std::filesystem::path& folder() const { return model_.folder.path(); }
  const Translator& one() const { return *model_.one; }  // of one thread
  bool attends() const { return std::string(GetParam().name).find("none") == std::string::npos; }

 private:
  struct Opened {
    TemporaryFolder folder;
    std::unique_ptr<const Translator> one;
  };
  inline static std::map<std::string, Opened> opened_;
  Opened& model_;
};

}  // namespace jumok
