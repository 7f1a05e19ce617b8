// Models trained for an experiment by the code of `jumok train`, and what they reach on lines held back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "jumok/aligner.h"
#include "lab/experiment.h"
#include "lab/tasks.h"

namespace jumok {

// A mechanism: a preset and settings over it.
struct Contender {
  std::string name, preset;
  std::vector<std::string> settings;
};

// Those of `all` that are named, all where none is; throws Error naming the valid ones.
std::vector<Contender> choose_contenders(const std::vector<Contender>& all, const std::vector<std::string>& names);

// The same for all that are compared, the learning rate too. Either limit ends a training, 0: not this one.
struct TrainingBudget {
  int64_t updates = 300;
  double seconds = 0;
  int batch_tokens = 1024;
  int width = 64;                     // model.width of all; 0: each preset's own
  std::string subwords = "word";      // of tasks a word is a symbol
  int vocabulary = 8000;              // at most
  std::vector<std::string> settings;  // over those of every contender
};

// What an experiment trains on and for how long. Each has numbers of its own over these.
struct TrainingPlan {
  Task task = Task::kDates;
  LabFiles files;                                // own text instead of a task
  std::string subwords = "unigram";              // of own text: unigram | bpe | char | word
  int vocabulary = 8000;                         // of own text: pieces at most
  int training_pairs = 20000, test_pairs = 300;  // of the task; of own text so many test lines at most
  int64_t updates = 500;                         // of each model
  double seconds = 0;                            // of each, instead of updates; 0: updates count
  int width = 64;                                // model.width of all; 0: each preset's own
  int batch_tokens = 1024;
  std::vector<std::string> settings;  // over those of every contender
  LabRun run;

  void full_budget() { updates *= 10, width = 256; }
  LabText text() const;
  TrainingBudget budget() const;
  // Error when `key` is among the settings for all models: it is what they differ in. `instead`: where it is chosen.
  void refuse_setting(std::string_view key, std::string_view instead) const;
};

// Throws Error, naming the contender, where one of them cannot be trained with the settings of all: said before the first is.
void check_contenders(const std::vector<Contender>& contenders, const TrainingBudget& budget);

struct CurvePoint {
  double update = 0, seconds = 0, loss = 0;  // mean -log p per symbol in training, with dropout
};

struct Trained {
  Contender contender;
  std::filesystem::path model;        // its folder
  std::vector<std::string> settings;  // all it was trained with over its preset
  int width = 0, batch_tokens = 0;    // as these have them
  int64_t parameters = 0, updates = 0;
  double seconds = 0;
  double tokens_per_second = 0;  // target symbols, median over the later half
  int64_t activation_bytes = 0;  // of the largest micro-batch of an update, forward and backward
  std::vector<CurvePoint> curve;
};

// A folder of its own under the system's temporary folder, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Trains models into `folder`, each in a folder of its own, on one text.
class TrainingGround {
 public:
  TrainingGround(const LabText& text, const TrainingBudget& budget, const LabRun& run);
  // `begin`, `end`: the share of the experiment's work that this is, for run.tell.
  Trained train(const Contender& contender, double begin, double end) const;
  const LabText& text() const { return text_; }

 private:
  void measure(Trained& trained) const;

  ScratchFolder folder_;
  const LabText& text_;
  TrainingBudget budget_;
  const LabRun& run_;
};

// On lines held back, greedy search.
struct Quality {
  double loss = 0;  // -log p per target symbol of the references, end symbols included
  double bleu = 0, chrf = 0;
  double exact = 0;            // share of outputs that equal their reference
  double aer = 0;              // alignment error rate by forced decoding; NaN without gold links or attention
  AttentionChoice attention;   // whose that is
  std::string attention_name;  // "layer 2, head 1, input", as far as there is more than one; empty where there is none
  std::vector<std::string> outputs;
};
Quality judge(const std::filesystem::path& model, const LabText& text, int threads);

// What each target word attended to in one sentence, or nothing where there is no attention.
struct AlignmentPicture {
  std::vector<std::string> source_words, target_words;
  std::vector<float> weights;  // [target words, source words]
};
AlignmentPicture alignment_picture(const std::filesystem::path& model, const std::string& source, const std::string& target,
                                   const AttentionChoice& attention = {});

}  // namespace jumok
