#include "align_choice.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "text/lines.h"
#include "text/unicode.h"

namespace jumok {
namespace {

std::vector<int> word_counts(const std::vector<std::string>& lines) {
  std::vector<int> counts;
  for (const std::string& line : lines) counts.push_back(static_cast<int>(split_words(line).size()));
  return counts;
}

const char* step_name(AttentionStep step) { return step == AttentionStep::kInput ? "input" : "output"; }

// A line for each layer and step: the mean's error rate, then each head's; a star at the best.
std::string table(const std::vector<AttentionTrial>& trials, const AttentionChoice& best, int heads) {
  std::string out = "  layer  step       mean ";
  for (int head = 0; head < heads; ++head) out += fmt::format("{:>8} ", fmt::format("head {}", head));
  for (const AttentionTrial& t : trials) {
    if (t.attention.head < 0) out += fmt::format("\n  {:<5}  {:<6}", t.attention.layer, step_name(t.attention.step));
    out += fmt::format("{:8.4f}{}", t.score.error_rate, t.attention == best ? '*' : ' ');
  }
  return out + "\n";
}

}  // namespace

ChoiceGold read_choice_gold(const std::string& gold, const std::string& source, const std::string& target, const LogSink& sink) {
  ParallelLines text = read_parallel(source, target, sink);
  const AlignmentLengths lengths{word_counts(text.source), word_counts(text.target)};
  auto links = parse_gold_alignments(read_lines(gold, sink), gold, text.source.size(), lengths);
  return {gold, std::move(text.source), std::move(text.target), std::move(links)};
}

ChoiceGold reversed(const ChoiceGold& gold) {
  ChoiceGold other{gold.name, gold.targets, gold.sources, gold.links};
  for (GoldAlignment& sentence : other.links) {
    for (auto* links : {&sentence.sure, &sentence.possible}) {
      for (AlignmentLink& link : *links) std::swap(link.source, link.target);
    }
  }
  return other;
}

std::string choice_options(const AttentionChoice& choice, const std::string& prefix) {
  const std::string head = choice.head < 0 ? "" : fmt::format(" {}head {}", prefix, choice.head);
  return fmt::format("{}layer {}{} {}step {}", prefix, choice.layer, head, prefix, step_name(choice.step));
}

AttentionChoice choose_attention(const Aligner& aligner, const ChoiceGold& gold, const TrialOptions& options, const std::string& prefix) {
  const auto trials = aligner.try_attentions(gold.sources, gold.targets, gold.links, options);
  const AttentionTrial best = best_trial(trials);
  const AlignmentScore& s = best.score;
  std::string out = fmt::format("jumok: alignment error rates on {}, {} pairs\n", gold.name, gold.sources.size());
  out += table(trials, best.attention, aligner.heads());
  out += fmt::format("jumok: chosen: {}: AER = {:.4f} (precision = {:.4f} recall = {:.4f}), the lowest of {}, the first of equals\n",
                     choice_options(best.attention, prefix), s.error_rate, s.precision, s.recall, trials.size());
  std::fputs(out.c_str(), stderr);
  return best.attention;
}

}  // namespace jumok
