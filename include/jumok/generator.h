// Going on with texts, and scoring them, by a trained language model (decoder-only).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jumok/attention_matrices.h"
#include "jumok/error.h"
#include "jumok/log.h"

namespace jumok {

struct GeneratorOptions {
  int threads = 0;  // 0: one a core. Results do not depend on it
  LogSink log;      // warnings: prompts and texts that had to be cut
};

struct GenerateOptions {
  bool greedy = false;     // always the most probable symbol; otherwise drawn at random:
  double temperature = 1;  // logits are divided by it; > 0
  int top_k = 0;           // drawn from the k most probable symbols only (Fan et al. 2018); 0: from all
  double top_p = 1;        // then from the fewest of those whose probability reaches p (Holtzman et al. 2020); in (0, 1]
  uint64_t seed = 1;
  int samples = 1;         // continuations of each prompt
  int max_length = 100;    // most new symbols, the end symbol included; fewer where the model has no more positions. >= 1
  std::string stop;        // a continuation ends in front of the first place where this text appears in it; empty: nowhere
  int batch = 32;          // prompts one thread goes on with at once; results do not depend on it
  int64_t first_line = 1;  // number of prompts[0], for warnings
};

struct Generation {
  std::string text;          // the prompt as it was given, and its continuation
  std::string continuation;  // the new text alone; begins with a space where it begins with a new word
  double log_prob = 0;       // of all symbols produced, end symbol included, those after `stop` too; natural logarithm; the model's own
                             // whatever the temperature, k and p
  int64_t tokens = 0;        // symbols produced, end symbol included
  bool cut = false;          // reached max_length or the last position
  bool stopped = false;      // by the stop text
  std::vector<int32_t>
      symbols;  // of the prompt as it was read and of all that was produced, end symbol left out: numbers of the vocabulary
};

struct TextScore {
  double log_prob = 0;  // of the text and its end symbol; natural logarithm
  int64_t tokens = 0;   // symbols, end symbol included
};

// Whether a model directory holds a language model rather than a translation model. Throws Error where its config.json cannot be read.
bool is_language_model(const std::filesystem::path& model);

// A loaded language model. Const while running; any number of threads may use one at the same time: their calls take turns, each on all
// the threads of its options. One that was moved from may only be assigned to or destroyed.
class Generator {
 public:
  // Throws Error when the model directory cannot be read, or holds a translation model.
  explicit Generator(const std::filesystem::path& model, const GeneratorOptions& options = {});
  ~Generator();
  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;

  // For each prompt its `samples` continuations. A draw depends on the seed, the prompt's text and the number of the sample, so equal
  // prompts go on alike; it depends neither on other prompts nor on batch and threads. An empty prompt asks for a text from its beginning.
  // Of a prompt that leaves no room before the model's last position only the end is read, with a warning. Throws Error on options out of
  // range.
  std::vector<std::vector<Generation>> generate(std::span<const std::string> prompts, const GenerateOptions& options = {}) const;

  // log P of each text, symbols that are never generated (start, unknown) left out of the normalisation. A text of more symbols than the
  // model has positions is cut, with a warning; `first_line` is the number of the first text.
  std::vector<TextScore> score(std::span<const std::string> texts, int64_t first_line = 1) const;

  // For each text the weights of every layer and head, by forced decoding: from each symbol and the end to those before. A text of more
  // symbols than the model has positions, or than 1 GB of weights has room for, is cut, with a warning. Throws Error where a weight is not
  // finite.
  std::vector<AttentionMatrices> matrices(std::span<const std::string> texts, int64_t first_line = 1) const;

  // The same of what generate() gave, of the very symbols that were read and chosen.
  std::vector<AttentionMatrices> matrices_of(std::span<const Generation> generations, int64_t first_line = 1) const;

  // Facts about the model: (name, value) in reading order.
  std::vector<std::pair<std::string, std::string>> facts() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace jumok
