// Translating with a trained model: text in, text out, with alignments and the attention behind them.
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
#include "jumok/metrics.h"

namespace jumok {

struct TranslatorOptions {
  int threads = 0;  // 0: one a core. Results do not depend on it
  LogSink log;      // warnings: lines that had to be cut
};

struct TranslateOptions {
  int beam = 4;                 // hypotheses kept a step; 1 is greedy search
  int nbest = 1;                // translations returned a line, at most `beam`
  double alpha = 1;             // score = log P / length^alpha; 0 or more
  int max_length = 0;           // most symbols of a translation; 0: twice the source's plus 10
  int64_t batch_tokens = 2048;  // source symbols computed at once by one thread; results do not depend on it
  bool alignments = false;      // also fill Translation::alignment
  int alignment_layer = -1;     // decoder layer, from 0; -1: the last but one, where links are sharpest (Garg et al. 2019)
  int64_t first_line = 1;       // number of lines[0], for warnings
};

// What each target word attended to, in words of the raw texts, split at white space. Weights are means over the heads of one layer, summed
// over the pieces of a source word, averaged over the pieces of a target word; what goes to the end symbol is left out, so rows sum to at
// most 1.
struct Alignment {
  std::vector<std::string> source_words, target_words;
  std::vector<float> weights;        // [target words, source words], row-major
  std::vector<AlignmentLink> links;  // sorted: for each target word the source word of most weight
  std::string layer;                 // "decoder.layers.2.cross_attention"
};

struct Translation {
  std::string text;
  double score = 0;              // log P / length^alpha; the end symbol counts
  double log_prob = 0;           // natural logarithm
  bool cut = false;              // reached the length limit before its end
  Alignment alignment;           // filled when asked for
  std::vector<int32_t> symbols;  // of the text, as the search chose them, end symbol left out: numbers of the target vocabulary
};

struct PairScore {
  double log_prob = 0;  // of the target given the source, end symbol included; natural logarithm
  int64_t tokens = 0;   // target symbols, end symbol included
};

// A loaded model. Const while running; any number of threads may use one at the same time: their calls take turns, each on all the
// threads of its options. One that was moved from may only be assigned to or destroyed.
class Translator {
 public:
  // Throws Error when the model directory cannot be read.
  explicit Translator(const std::filesystem::path& model, const TranslatorOptions& options = {});
  ~Translator();
  Translator(Translator&&) noexcept;
  Translator& operator=(Translator&&) noexcept;

  // For each line its translations, best first. A blank line gives one empty translation without asking the model; a line of more symbols
  // than the model has positions is cut, with a warning. The bits of a line's result depend on no other line. With alignments, the weights
  // of one line may take 1 GB; words beyond have no links, with a warning. Throws Error for options out of range, and where alignments are
  // asked of a model without attention over the source or a layer it does not have.
  std::vector<std::vector<Translation>> translate(std::span<const std::string> lines, const TranslateOptions& options = {}) const;

  // log P of each target given its source (forced decoding, with the same symbols left out as in the search). `first_line` is the number of
  // the first pair, for warnings. Throws Error where the counts differ.
  std::vector<PairScore> score(std::span<const std::string> sources, std::span<const std::string> targets, int64_t first_line = 1) const;

  // For each pair the weights of every layer and head, by forced decoding. Lines of more symbols than the model has
  // positions, or than 1 GB of weights a pair has room for, are cut there, with a warning. Throws Error where the counts differ, for a
  // model without attention over the source, and where a weight is not finite.
  std::vector<AttentionMatrices> matrices(std::span<const std::string> sources, std::span<const std::string> targets,
                                          int64_t first_line = 1, Attentions which = Attentions::kSource) const;

  // The same of what translate() gave for these lines, of the very symbols that it chose: the text could be cut into others.
  std::vector<AttentionMatrices> matrices_of(std::span<const std::string> lines, std::span<const Translation> translations,
                                             int64_t first_line = 1, Attentions which = Attentions::kSource) const;

  // The same of pairs as a page (see attention_page in attention_matrices.h).
  std::string attention_page(const std::string& title, std::span<const std::string> sources, std::span<const std::string> targets,
                             std::span<const std::string> references = {}) const;

  // Facts about the model: (name, value) in reading order.
  std::vector<std::pair<std::string, std::string>> facts() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace jumok
