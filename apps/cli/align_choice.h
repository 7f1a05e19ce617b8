// jumok align --choose: the attention that agrees best with a small gold set.
#pragma once

#include <string>
#include <vector>

#include "jumok/aligner.h"

namespace jumok {

// A gold set: its links and its sentences.
struct ChoiceGold {
  std::string name;  // the gold file, for messages
  std::vector<std::string> sources, targets;
  std::vector<GoldAlignment> links;
};

// Throws Error where a file cannot be read, the counts differ or a link lies beyond its sentence.
ChoiceGold read_choice_gold(const std::string& gold, const std::string& source, const std::string& target, const LogSink& sink);
// The same pairs the other way round, for the model of the other direction.
ChoiceGold reversed(const ChoiceGold& gold);

// Tries every layer and head, writes the table of their error rates and the choice to standard error, and returns the choice. `prefix` is
// what the options that repeat it begin with ("--", "--reverse-").
AttentionChoice choose_attention(const Aligner& aligner, const ChoiceGold& gold, const TrialOptions& options, const std::string& prefix);

// "--layer 2 --head 1 --step input", without --head for the mean.
std::string choice_options(const AttentionChoice& choice, const std::string& prefix);

}  // namespace jumok
