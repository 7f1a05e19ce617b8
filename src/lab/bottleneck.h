// jumok lab bottleneck: one vector for a whole sentence (Cho 2014, "On the Properties of Neural Machine Translation"; Bahdanau 2015 §1 and
// figure 2): how quality falls with length without attention, and how it does not with it.
#pragma once

#include <string>
#include <vector>

#include "lab/trained.h"

namespace jumok {

struct BottleneckOptions {
  std::vector<Task> tasks = {Task::kCopy, Task::kReverse};
  std::vector<int> lengths = {5, 10, 15, 20, 30};  // of the tests; training draws lengths up to the greatest. With run.full 5 … 100
  LabFiles files;                                  // own text instead: BLEU by the length of the source
  std::vector<int> bins = {10, 20, 30, 40, 60};    // of own text: source words up to each, and what is longer
  int training_pairs = 30000, test_pairs = 50;     // pairs for each length; of own text all test lines count
  int64_t updates = 500;                           // of each; 10 times as many with run.full
  int width = 64;                                  // 256 with run.full
  int batch_tokens = 2048;
  std::vector<std::string> settings;
  LabRun run;
};

// Quality of one mechanism at one length.
struct LengthPoint {
  int shortest = 0, longest = 0;  // source words
  int lines = 0;
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
BottleneckResult run_bottleneck(const BottleneckOptions& options);

// No attention, Bahdanau, Luong general, Transformer.
std::vector<Contender> bottleneck_contenders();
// Share of the reference's words that the output has at the same place, from 0 to 1; 1 where both are empty.
double words_in_place(const std::string& output, const std::string& reference);
// The quality of the lines whose source has `shortest` to `longest` words.
LengthPoint quality_at(const LabText& text, const std::vector<std::string>& outputs, int shortest, int longest);

LabReport report_of(const BottleneckResult& result);
nlohmann::ordered_json to_json(const BottleneckResult& result);

}  // namespace jumok
