// The step interface of a model: all that search knows of it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace jumok {

// One batch of encoded sources being decoded, one target position at a time. It owns every changing thing (caches, decoder states, arena)
// and is used once, from the first symbol to the last; the model behind it is const.
class Stepper {
 public:
  virtual ~Stepper() = default;

  virtual int vocabulary() const = 0;                 // V
  virtual int sentences() const = 0;                  // sources in the batch
  virtual int source_length(int sentence) const = 0;  // S, in pieces with the end symbol

  // Most symbols the model can be fed, one after the other (its last position).
  virtual int longest_target() const { return std::numeric_limits<int>::max(); }

  // Feeds one symbol to each row. Row r continues row parents[r] of the previous call; at the first call parents[r] is the sentence number
  // and its state is empty. Rows may be dropped, copied and reordered freely as long as the rows of one sentence stay adjacent. A row's
  // logits depend on its sentence and its symbols alone, bit for bit. parents, symbols [rows], rows >= 1. Returns logits [rows, V], valid
  // until the next call; the caller may overwrite them.
  virtual std::span<float> step(std::span<const int32_t> parents, std::span<const int32_t> symbols) = 0;

  // In place of the first steps: feeds prompts[s], one symbol or more, to every sentence s, all symbols in one pass. Returns what the step
  // of each prompt's last symbol returns, row s for sentence s, up to rounding (|difference| below 1e-5 of a logit's size); a row's bits
  // depend on its own prompt alone. Empty: this model takes one symbol at a time, and nothing was fed.
  virtual std::span<float> read_prompts(std::span<const std::vector<int32_t>> prompts) {
    (void)prompts;
    return {};
  }
};

}  // namespace jumok
