// Tasks made on the spot, with the alignment of every pair known: copying, reversing, and dates from words to figures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "jumok/metrics.h"

namespace jumok {

enum class Task {
  kCopy,     // "7 0 2" → "7 0 2"
  kReverse,  // "7 0 2" → "2 0 7"
  kDates,    // "the third of march nineteen eighty seven" → "1 9 8 7 - 0 3 - 0 3": order changes, words make several symbols
};
Task parse_task(const std::string& name);  // copy | reverse | dates; throws Error
std::string task_name(Task task);

struct TaskPair {
  std::string source, target;
  GoldAlignment gold;  // words of both, split at spaces
};

// Days from 1 January 1900 on; each is in the test part or in the training part, by a hash of the day.
constexpr int kTaskDays = 73049;        // to 31 December 2099
TaskPair date_pair(int day, int form);  // form 0 … 2: how it is said

// Pair number i depends on (seed, i) alone. Lengths of copy and reverse are drawn evenly from [shortest, longest]. `test`: other dates,
// another stream of digits.
struct TaskOptions {
  Task task = Task::kDates;
  int shortest = 1, longest = 10;
  uint64_t seed = 1;
  bool test = false;
};
std::vector<TaskPair> make_task(const TaskOptions& options, int pairs);

// Sentence pairs whose true word links are known.
struct GoldPairs {
  std::vector<std::string> source, target;
  std::vector<GoldAlignment> links;
};

// Lines to train and to judge with; gold empty or one a test line.
struct LabText {
  std::string name;  // "dates", or the names of the files
  std::vector<std::string> source, target, test_source, test_target;
  std::vector<GoldAlignment> gold;
  GoldPairs choice;  // none of the test: on these the attention that is judged is chosen; without them it is the default of `jumok align`
  JudgedLinks judged = JudgedLinks::kEitherAnnotated;  // the tasks' gold leaves out words that stand for nothing
};
LabText task_text(const TaskOptions& options, int training_pairs, int test_pairs);
// From files of sentences; at most `test_lines` of the test (0: all).
struct LabFiles {
  std::filesystem::path source, target, test_source, test_target;
  std::filesystem::path gold;                                  // true word links of the test lines; empty: none
  std::filesystem::path choose, choose_source, choose_target;  // true word links of other pairs, to choose the attention on; empty: none
  GoldFormat gold_format = GoldFormat::kRecognised;
  JudgedLinks judged = JudgedLinks::kAll;
  bool given() const { return !source.empty() || !target.empty() || !test_source.empty() || !test_target.empty() || !gold.empty(); }
};
// Throws Error where some are named but not all.
void check_files(const LabFiles& files);
LabText file_text(const LabFiles& files, int test_lines);

}  // namespace jumok
