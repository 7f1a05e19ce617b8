#include "tiny_model.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/rng.h"
#include "text/unicode.h"

namespace jumok {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "jumok-test-XXXXXX").string();
  check(mkdtemp(name.data()) != nullptr, "{}: cannot be made", name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

const std::vector<std::string>& sample_sentences() {
  static const std::vector<std::string> sentences = {"The cat sits on the mat.",
                                                     "A dog runs over the green field.",
                                                     "Two men are talking in the street.",
                                                     "She reads a book about trees.",
                                                     "It rains in the morning.",
                                                     "The children play with a red ball.",
                                                     "A woman buys bread at the market.",
                                                     "He opens the old window.",
                                                     "The train leaves at seven.",
                                                     "Birds sing in the tall yew.",
                                                     "We walk along the river.",
                                                     "The sun is warm today.",
                                                     "A boy throws a stone.",
                                                     "They wait for the last bus.",
                                                     "The teacher writes on the board.",
                                                     "My brother likes strong coffee.",
                                                     "Snow covers the quiet hills.",
                                                     "The door is closed.",
                                                     "Three girls dance at the party.",
                                                     "An old man feeds the ducks.",
                                                     "The soup tastes of salt.",
                                                     "I have lost my keys again.",
                                                     "The ship sails to the north.",
                                                     "Nobody knows the answer.",
                                                     "The baker makes sweet cakes.",
                                                     "A horse stands near the fence.",
                                                     "The lamp gives little light.",
                                                     "You can see the sea from here.",
                                                     "The letter came from far away.",
                                                     "Please keep the window open."};
  return sentences;
}

namespace {

ModelConfig tiny_transformer(Architecture architecture, int positions) {
  ModelConfig config = empty_config(architecture);
  if (architecture == Architecture::kTransformer) config.encoder_layers = 2;
  config.decoder_layers = 2;
  config.width = 16;
  config.heads = 2;
  config.feed_forward_width = 24;
  config.max_positions = positions;
  return config;
}

}  // namespace

void write_random_model(ModelConfig config, const fs::path& folder, uint64_t seed) {
  SubwordOptions subword_options;
  subword_options.vocabulary = 90;
  SubwordPair subwords;
  subwords.source = subwords.target = std::make_shared<const Subwords>(Subwords::train(sample_sentences(), subword_options));
  config.source_vocabulary = config.target_vocabulary = subwords.source->size();
  const auto model = make_model(config);
  std::vector<float> block(model->layout().size());
  model->layout().initialise(block.data(), seed);
  for (float& value : block) value *= 1.5f;  // less even probabilities than those of a fresh model
  write_config(folder, config, subwords, {});
  write_parameters(folder / "model.safetensors", model->layout(), block.data());
}

void write_tiny_model(const fs::path& folder, int positions, uint64_t seed) {
  write_random_model(tiny_transformer(Architecture::kTransformer, positions), folder, seed);
}

void write_tiny_language_model(const fs::path& folder, int positions, uint64_t seed) {
  write_random_model(tiny_transformer(Architecture::kLanguageModel, positions), folder, seed);
}

void write_tiny_recurrent_model(const fs::path& folder, const std::string& preset) {
  ModelConfig config = model_preset(preset);
  config.width = 8;
  write_random_model(config, folder, 1);
}

std::vector<std::string> random_lines(int count, int longest, uint64_t seed) {
  std::vector<std::string> words;
  for (const std::string& s : sample_sentences()) {
    for (const auto w : split_words(s)) words.emplace_back(w);
  }
  Rng rng(seed);
  std::vector<std::string> lines(static_cast<size_t>(count));
  for (std::string& line : lines) {
    for (uint64_t n = 1 + rng.below(static_cast<uint64_t>(longest)); n > 0; --n)
      line += (line.empty() ? "" : " ") + words[rng.below(words.size())];
  }
  return lines;
}

}  // namespace jumok
