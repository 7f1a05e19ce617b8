// Aligning given sentence pairs with a trained model: which source words each target word attended to, and the attention behind it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jumok/attention_matrices.h"
#include "jumok/metrics.h"
#include "jumok/translator.h"

namespace jumok {

// Of one pair of sentences: sorted, without repeats.
using WordLinks = std::vector<AlignmentLink>;

// How word weights become links; see Alignment for the weights. A weight of 0 never links.
enum class LinkRule {
  kBest,       // each target word with the source word of most weight, the first of equals, where that reaches the threshold
  kThreshold,  // every pair of words whose weight reaches the threshold
};
struct LinkOptions {
  LinkRule rule = LinkRule::kBest;
  double threshold = 0;  // 0 to 1
};

// Which step of the decoder speaks for a target word (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine
// Translation").
enum class AttentionStep {
  kOutput,  // the one that produced it: what Translator shows
  kInput,   // the next one, which has read it; often aligns better, and exists only where the translation is known
};

struct AttentionChoice {
  int layer = -1;  // of the attentions over the source, from 0; -1: the last but one (the only one where there is one)
  int head = -1;   // from 0; -1: the mean of all heads
  AttentionStep step = AttentionStep::kOutput;
  bool operator==(const AttentionChoice&) const = default;
};

struct AlignOptions {
  AttentionChoice attention;
  LinkOptions links;
  int64_t batch_tokens = 2048;  // symbols of either side computed at once by one thread; results do not depend on it
  int64_t first_line = 1;       // number of the first pair, for messages
};

struct AttentionTrial {
  AttentionChoice attention;
  AlignmentScore score;
};

struct TrialOptions {
  LinkOptions links;
  JudgedLinks judged = JudgedLinks::kAll;
  std::vector<AttentionStep> steps = {AttentionStep::kOutput, AttentionStep::kInput};  // those to try
  int64_t batch_tokens = 2048;
};

// A loaded model. Const while running; any number of threads may use one at the same time: their calls take turns, each on all the
// threads of its options. One that was moved from may only be assigned to or destroyed.
class Aligner {
 public:
  // Throws Error when the model directory cannot be read, or the model has no attention over the source.
  explicit Aligner(const std::filesystem::path& model, const TranslatorOptions& options = {});
  ~Aligner();
  Aligner(Aligner&&) noexcept;
  Aligner& operator=(Aligner&&) noexcept;

  int layers() const;  // attentions over the source
  int heads() const;   // of each

  // For each pair its alignment by forced decoding. A blank side gives no links; a line of more symbols than the model has positions is
  // cut, with a warning, and the words beyond have no links; so is one whose weights would take more than 1 GB. The bits of a pair's result
  // depend on no other pair. Throws Error where the counts differ, where layer or head do not exist, and where a weight is not finite.
  std::vector<Alignment> align(std::span<const std::string> sources, std::span<const std::string> targets,
                               const AlignOptions& options = {}) const;

  // For each pair all the weights, of lines cut as above; of `options` only batch_tokens and first_line count. Throws Error where the model
  // has no such attention.
  std::vector<AttentionMatrices> matrices(std::span<const std::string> sources, std::span<const std::string> targets,
                                          const AlignOptions& options = {}, Attentions which = Attentions::kSource) const;

  // The alignment error rate of every layer, the mean of its heads and each of them, at each of the steps, against gold links of as many
  // pairs. Layer by layer, within it step by step, the mean before the heads.
  std::vector<AttentionTrial> try_attentions(std::span<const std::string> sources, std::span<const std::string> targets,
                                             std::span<const GoldAlignment> gold, const TrialOptions& options = {}) const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// The trial with the lowest error rate, the first of equals. Throws Error where there are none.
AttentionTrial best_trial(std::span<const AttentionTrial> trials);

// Two directions made one.
enum class Symmetrisation {
  kIntersection,      // links of both (Och and Ney 2003, §4)
  kUnion,             // links of either
  kGrowDiagFinalAnd,  // Koehn et al. 2005, in the order of Moses' symal; see align_symmetrise.cc
};
// `forward` is from the model that produces the target, `backward` from the one that produces the source, as (source, target) too.
WordLinks symmetrise(const WordLinks& forward, const WordLinks& backward, Symmetrisation how);

}  // namespace jumok
