// A little model with random parameters in a folder of its own: it translates nonsense, but by the same rules as a good one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/model_files.h"

namespace jumok {

// A folder below the system's temporary folder, removed with its contents at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Thirty short English sentences.
const std::vector<std::string>& sample_sentences();

// Writes a model directory of this configuration, its vocabularies filled in, with random parameters.
void write_random_model(ModelConfig config, const std::filesystem::path& folder, uint64_t seed);

// Writes a model directory: joint subwords trained on the sentences (about 90 pieces), two layers of width 16, `positions` positions.
void write_tiny_model(const std::filesystem::path& folder, int positions = 64, uint64_t seed = 1);

// One of `preset`, recurrent, of width 8, with the same subwords. It has no last position.
void write_tiny_recurrent_model(const std::filesystem::path& folder, const std::string& preset);

// The same as a language model.
void write_tiny_language_model(const std::filesystem::path& folder, int positions = 64, uint64_t seed = 1);

// `count` lines of 1 to `longest` words of the sample sentences.
std::vector<std::string> random_lines(int count, int longest, uint64_t seed);

}  // namespace jumok
