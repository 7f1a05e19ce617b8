// Training a translator from two files of sentences, or a language model from one.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "jumok/error.h"
#include "jumok/log.h"

namespace jumok {

// Where a run stands; handed to TrainOptions::progress after every update and validation.
struct TrainProgress {
  int64_t update = 0;
  double epoch = 0;                           // passes over the data so far, with the fraction of the present one
  double loss = 0;                            // mean -log p per target symbol over the updates since the last report in training.jsonl
  double tokens_per_second = 0;               // real target symbols, over the same updates
  double seconds = 0;                         // of training so far, over all sessions
  double fraction = 0;                        // of the nearest limit, 0 to 1; 0 without a limit
  bool validated = false;                     // the four values below are new
  double valid_loss = 0, bleu = 0, chrf = 0;  // of a language model, BLEU and chrF are NaN
  bool is_best = false;                       // the model on disk is this one now
};

struct TrainOptions {
  std::filesystem::path source, target;              // parallel text, line by line; .gz is read too
  std::filesystem::path valid_source, valid_target;  // held-back text; empty: no validation, the mean of the last sets is kept
  std::filesystem::path text, valid_text;            // of a language model instead: each line is one text
  std::filesystem::path model;                       // the model directory to make
  std::string preset = "transformer-small";
  std::vector<std::string> settings;  // "key=value", over the preset's; docs/options.md lists the keys

  std::string subwords = "unigram";                        // unigram | bpe | char | word
  int vocabulary = 8000;                                   // pieces wanted of each subword model
  bool joint = true;                                       // one vocabulary for both sides
  bool lowercase = false;                                  // text is lowercased, in and out
  std::filesystem::path source_subwords, target_subwords;  // given SentencePiece models instead of trained ones

  double max_seconds = 0;                   // of training; 0: no limit
  int64_t max_epochs = 0, max_updates = 0;  // 0: no limit
  uint64_t seed = 1;
  int threads = 0;  // 0: one a core
  // Goes on with the run in `model`: its settings and seed, and its texts unless others are named above (they have moved; changed data is
  // refused). From here come the limits (if any is given, none of the stored ones counts), threads, callbacks.
  bool resume = false;
  // Takes the folder of a model that is there. It stays whole in its folder `replaced` until the new run has a model: the best of a
  // validation, or the one at its end; its checkpoint goes at once.
  bool overwrite = false;
  std::filesystem::path log_json;  // the events of training.jsonl also go to this file; empty: not

  // Called once, when the texts are read and the vocabulary is there, before the first file is written: a run given up until then leaves
  // nothing (where `stop` is set by then, train() returns kStopped), from then on `stop` ends it with its state saved.
  std::function<void()> begin;
  std::function<void(const TrainProgress&)> progress;  // what it throws, train() throws after it has saved the state
  LogSink log;
  const std::atomic<bool>* stop = nullptr;  // set from outside (a signal): the run saves its state and ends, after the present update
};

enum class TrainEnd { kTime, kEpochs, kUpdates, kPatience, kStopped };

struct TrainResult {
  TrainEnd end = TrainEnd::kUpdates;
  int64_t updates = 0, tokens = 0;
  double seconds = 0;
  int64_t parameters = 0;    // numbers in the model
  int64_t best_update = -1;  // -1: no validation was made
  double best_score = 0;     // of the chosen metric
};

// Runs until a limit, the end of patience or `stop`. Throws Error on unusable files, options or a model directory that is already in use.
TrainResult train(const TrainOptions& options);

// Throws Error where options of a new run are out of range or contradict each other, or settings are wrong: what can be known without
// reading a file. train() does it too.
void check_train_options(const TrainOptions& options);

// One option that `settings` understands.
struct SettingInfo {
  std::string key, value, range, help;  // value: with the preset named
};
// `settings` are applied over the preset's. Throws Error for one that is unknown or out of range, and where values do not fit together.
std::vector<SettingInfo> list_settings(const std::string& preset, const std::vector<std::string>& settings = {});
std::vector<std::string> list_presets();
// Whether a preset is a language model: trained on TrainOptions::text instead of source and target. Throws Error where there is none of
// this name.
bool learns_from_one_text(const std::string& preset);

}  // namespace jumok
