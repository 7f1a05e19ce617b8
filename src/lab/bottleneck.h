// jumok lab bottleneck: one vector for a whole sentence (Cho 2014, "On the Properties of Neural Machine Translation"; Bahdanau 2015 §1 and
// figure 2): how quality falls with length without attention, and how it does not with it.
#pragma once

#include <string>
#include <vector>

#include "lab/trained.h"

namespace jumok {

// Pairs: test_pairs for each length; of own text all test lines count. Instead of one task there are `tasks`.
struct BottleneckOptions : TrainingPlan {
  BottleneckOptions() { training_pairs = 30000, test_pairs = 50, batch_tokens = 2048; }
  std::vector<Task> tasks = {Task::kCopy, Task::kReverse};
  std::vector<int> lengths = {5, 10, 15, 20, 30};  // of the tests; training draws lengths up to the greatest
  // Of own text: source words up to each, and what is longer; empty: five ranges with about as many test lines each.
  std::vector<int> bins;
  std::vector<std::string> only;  // names of mechanisms; empty: all

  void full_budget() { TrainingPlan::full_budget(), lengths = {5, 10, 20, 30, 40, 60, 80, 100}; }
};

// Quality of one mechanism at one length.
struct LengthPoint {
  int shortest = 0, longest = 0;  // source words of the range
  int lines = 0;
  double words = 0;  // source words of its lines, mean
  double bleu = 0;
  double exact = 0;    // share of outputs that equal their reference
  double symbols = 0;  // share of the reference's words that stand at their place in the output
};
struct BottleneckRow {
  Trained trained;
  std::vector<LengthPoint> points;
};
struct BottleneckPart {
  std::string text;  // "copy", "reverse", or the names of own files
  std::vector<BottleneckRow> rows;
};
struct BottleneckResult {
  bool own_text = false;
  int width = 0;
  std::vector<BottleneckPart> parts;
};
void check_options(const BottleneckOptions& options);
BottleneckResult run_bottleneck(const BottleneckOptions& options);

// Ends of at most `count` ranges of lengths with about as many of `lengths` each; the last range has none. Lengths of 0 are left out.
std::vector<int> even_bins(std::vector<int> lengths, int count);
// No attention, Bahdanau, Luong general, Transformer.
std::vector<Contender> bottleneck_contenders();
// Share of the reference's words that the output has at the same place, from 0 to 1; 1 where both are empty.
double words_in_place(const std::string& output, const std::string& reference);
// The quality of the lines whose source has `shortest` to `longest` words.
LengthPoint quality_at(const LabText& text, const std::vector<std::string>& outputs, int shortest, int longest);

LabReport report_of(const BottleneckResult& result);
nlohmann::ordered_json to_json(const BottleneckResult& result);

}  // namespace jumok
