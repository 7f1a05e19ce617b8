// Laws of whole training runs: threads, interruptions and kills change no bit of the result.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "digit_task.h"
#include "jumok/translator.h"
#include "models/safetensors.h"

namespace jumok {
namespace {
namespace fs = std::filesystem;

using State = std::map<std::string, std::string>;

// What differs, by name: a difference of megabytes of parameters is no message.
std::string difference(const State& found, const State& expected) {
  std::string text;
  std::set<std::string> names;
  for (const auto* state : {&found, &expected}) {
    for (const auto& [name, value] : *state) names.insert(name);
  }
  for (const std::string& name : names) {
    if (!found.contains(name)) {
      text += name + " is missing; ";
    } else if (!expected.contains(name)) {
      text += name + " is too many; ";
    } else if (found.at(name) != expected.at(name)) {
      text += name + " differs; ";
    }
  }
  return text;
}

// Trains until update `stop_at` has been reported, as a signal would end it.
TrainResult train_until(TrainOptions options, int64_t stop_at) {
  std::atomic<bool> stop = false;
  options.stop = &stop;
  options.progress = [&](const TrainProgress& p) { stop = stop || p.update >= stop_at; };
  return train(options);
}

class TrainRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const TrainOptions options = digit_run(*folder_, "unbroken");
    result_ = new TrainResult(train(options));
    unbroken_ = new State(lasting_state(options.model));
  }
  static void TearDownTestSuite() {
    delete folder_;
    delete result_;
    delete unbroken_;
  }

  static TemporaryFolder* folder_;
  static TrainResult* result_;
  static State* unbroken_;
};
TemporaryFolder* TrainRun::folder_ = nullptr;
TrainResult* TrainRun::result_ = nullptr;
State* TrainRun::unbroken_ = nullptr;

TEST_F(TrainRun, EndsAtItsLimitWithTheBestModelInPlace) {
  EXPECT_EQ(result_->end, TrainEnd::kUpdates);
  EXPECT_EQ(result_->updates, 40);
  EXPECT_GT(result_->tokens, 0);
  EXPECT_EQ(result_->best_update % 10, 0);
  const SafetensorsFile kept = SafetensorsFile::read(*folder_ / "unbroken/model.safetensors");
  EXPECT_EQ(kept.metadata().at("update"), std::to_string(result_->best_update));
  for (const char* name : {"config.json", "joint.spm", "training.jsonl", "training.html"}) EXPECT_TRUE(unbroken_->contains(name)) << name;
  EXPECT_EQ(Translator(*folder_ / "unbroken", {.threads = 1}).translate(std::vector<std::string>{"1 2 3"}).size(), 1u);
}

TEST_F(TrainRun, OneTwoAndThreeThreadsGiveTheSameBits) {
  for (const int threads : {1, 3}) {
    TrainOptions options = digit_run(*folder_, "threads" + std::to_string(threads));
    options.threads = threads;
    train(options);
    EXPECT_EQ(difference(lasting_state(options.model), *unbroken_), "") << threads << " threads";
  }
}

// Epochs have 10 to 15 updates; validations are at 10, 20, …, sets for the mean at 5, 10, ….
TEST_F(TrainRun, StoppedAnywhereAndResumedItGivesTheBitsOfTheUnbrokenRun) {
  for (const int64_t k : {1, 7, 10, 15, 23, 39}) {
    TrainOptions options = digit_run(*folder_, "stopped" + std::to_string(k));
    const TrainResult first = train_until(options, k);
    EXPECT_EQ(first.end, TrainEnd::kStopped);
    EXPECT_EQ(first.updates, k);
    TrainOptions resumed;
    resumed.model = options.model;
    resumed.resume = true;
    resumed.threads = 1;
    const TrainResult second = train(resumed);
    EXPECT_EQ(second.end, TrainEnd::kUpdates);
    EXPECT_EQ(second.updates, 40);
    EXPECT_EQ(second.tokens, result_->tokens);
    EXPECT_EQ(second.best_score, result_->best_score);
    EXPECT_EQ(difference(lasting_state(options.model), *unbroken_), "") << "stopped after " << k;
  }
}

TEST_F(TrainRun, AnyNumberOfStopsGivesTheSameBitsWithoutValidationToo) {
  TrainOptions options = digit_run(*folder_, "mean");
  options.valid_source = options.valid_target = "";
  train(options);
  const State expected = lasting_state(options.model);
  options.model = *folder_ / "mean-stopped";
  train_until(options, 4);
  options.resume = true;
  options.settings.clear();
  for (const int64_t k : {5, 6, 18, 31}) EXPECT_EQ(train_until(options, k).updates, k);
  train(options);
  EXPECT_EQ(difference(lasting_state(options.model), expected), "");
}

TEST_F(TrainRun, AFinishedRunCanBeGivenMoreUpdates) {
  TrainOptions options = digit_run(*folder_, "longer");
  options.max_updates = 20;
  train(options);
  TrainOptions resumed;
  resumed.model = options.model;
  resumed.resume = true;
  resumed.max_updates = 40;
  EXPECT_EQ(train(resumed).updates, 40);
  EXPECT_EQ(difference(lasting_state(options.model), *unbroken_), "");
}

// Kills the run at random moments until it ends by itself; what was saved is always complete, and the end is that of the unbroken run.
TEST_F(TrainRun, KilledAtRandomTimesItAlwaysResumes) {
  TrainOptions options = digit_run(*folder_, "killed");
  Rng rng(static_cast<uint64_t>(::getpid()));
  constexpr int kDone = 0, kNoCheckpoint = 3, kFailed = 4;
  int status = -1, kills = 0;
  for (int round = 0; round < 200 && status != kDone; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::string error = error_of(options);
      if (!error.empty()) std::fprintf(stderr, "%s\n", error.c_str());
      ::_exit(error.empty() ? kDone : error.find("no checkpoint") != std::string::npos ? kNoCheckpoint : kFailed);
    }
    // Time enough for some progress; more with every round, so that a slow machine comes to an end too.
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + rng.below(100) + 5 * round));
    ::kill(child, SIGKILL);
    int code = 0;
    ::waitpid(child, &code, 0);
    kills += WIFSIGNALED(code) ? 1 : 0;
    status = WIFEXITED(code) ? WEXITSTATUS(code) : -1;
    ASSERT_NE(status, kFailed);
    // Killed before anything was kept: such a run is begun again.
    const bool saved = fs::exists(options.model / "checkpoint/state.safetensors");
    options.resume = saved;
    options.overwrite = !saved;
    if (saved) options.settings.clear();
  }
  EXPECT_EQ(status, kDone);
  EXPECT_GT(kills, 0);
  EXPECT_EQ(difference(lasting_state(options.model), *unbroken_), "");
}

TEST_F(TrainRun, ChangedTrainingDataIsRefusedOnResume) {
  TrainOptions options = digit_run(*folder_, "changed");
  train_until(options, 10);
  options.resume = true;
  options.settings.clear();
  const std::string whole = read_file(options.target);
  std::string changed = whole;
  changed[0] = changed[0] == '1' ? '2' : '1';
  std::ofstream(options.target, std::ios::binary) << changed;
  EXPECT_NE(error_of(options).find("the training data is not what this run began with"), std::string::npos) << error_of(options);
  std::ofstream(options.target, std::ios::binary) << whole;
  EXPECT_EQ(error_of(options), "");
  EXPECT_EQ(difference(lasting_state(options.model), *unbroken_), "");
}

TEST_F(TrainRun, AModelThatIsThereIsOnlyReplacedWhenAllowed) {
  TrainOptions options = digit_run(*folder_, "unbroken");
  options.seed = 5;
  EXPECT_NE(error_of(options).find("a model is there already"), std::string::npos);
  EXPECT_EQ(difference(lasting_state(options.model), *unbroken_), "");
  TrainOptions other = digit_run(*folder_, "overwritten");
  other.max_updates = 3;
  train(other);
  other.seed = 5;
  other.overwrite = true;
  EXPECT_EQ(error_of(other), "");
  const State five = lasting_state(other.model);
  other.seed = 1;
  train(other);
  EXPECT_NE(difference(lasting_state(other.model), five), "") << "the seed changes nothing";
}

TEST_F(TrainRun, OverwritingLeavesNothingOfTheOldRunToResume) {
  TrainOptions options = digit_run(*folder_, "replaced");
  train(options);
  options.overwrite = true;
  train(options);
  EXPECT_EQ(difference(lasting_state(options.model), *unbroken_), "");
}

TEST_F(TrainRun, EpochsAndPatienceEndARun) {
  TrainOptions options = digit_run(*folder_, "epochs");
  options.max_updates = 0;
  options.max_epochs = 2;
  double epoch = 0;
  options.progress = [&](const TrainProgress& p) {
    EXPECT_GE(p.epoch, epoch);
    EXPECT_LE(p.fraction, 1);
    epoch = p.epoch;
  };
  EXPECT_EQ(train(options).end, TrainEnd::kEpochs);
  EXPECT_DOUBLE_EQ(epoch, 2);
  options.model = *folder_ / "patience";
  options.progress = {};
  options.max_epochs = 0;
  options.max_updates = 1000;
  options.settings.insert(options.settings.end(), {"train.rate=1e-30", "train.patience=2", "validate.metric=loss"});
  const TrainResult result = train(options);  // nothing moves: the first validation is the best
  EXPECT_EQ(result.end, TrainEnd::kPatience);
  EXPECT_EQ(result.updates, 30);
  EXPECT_EQ(result.best_update, 10);
}

TEST_F(TrainRun, ProgressTellsOfEveryUpdateAndValidation) {
  TrainOptions options = digit_run(*folder_, "progress");
  options.max_updates = 20;
  options.log_json = *folder_ / "progress.jsonl";
  std::vector<int64_t> updates, validations;
  options.progress = [&](const TrainProgress& p) {
    (p.validated ? validations : updates).push_back(p.update);
    EXPECT_TRUE(std::isfinite(p.loss) && p.loss > 0);
    EXPECT_GT(p.tokens_per_second, 0);
    if (!p.validated) return;
    EXPECT_TRUE(std::isfinite(p.valid_loss) && p.valid_loss > 0);
    EXPECT_TRUE(p.bleu >= 0 && p.bleu <= 100 && p.chrf >= 0 && p.chrf <= 100);
  };
  train(options);
  EXPECT_EQ(updates.size(), 20u);
  EXPECT_EQ(validations, (std::vector<int64_t>{10, 20}));
  EXPECT_EQ(read_file(options.log_json), read_file(options.model / "training.jsonl"));
}

// Digits can be turned round after a few hundred updates; after 40 the loss must at least have left the uniform log 13 = 2.56 behind.
TEST_F(TrainRun, TheLossFalls) {
  double last = 0;
  std::istringstream lines(read_file(*folder_ / "unbroken/training.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find("\"loss\":");
    if (line.find("\"valid\"") != std::string::npos) last = std::stod(line.substr(at + 7));
  }
  EXPECT_GT(last, 0);
  EXPECT_LT(last, 2.4);
}

// Recurrent models, whose weights' gradients are summed over the steps.
struct RecurrentRunCase {
  const char* preset;
  std::vector<std::string> settings;
};
void PrintTo(const RecurrentRunCase& c, std::ostream* out) { *out << c.preset; }

class RecurrentRun : public testing::TestWithParam<RecurrentRunCase> {
 protected:
  TrainOptions options(const std::string& model) const {
    TrainOptions o = digit_run(folder_, model);
    o.preset = GetParam().preset;
    o.settings = {"model.width=8",       "train.rate=0.01",          "train.warm-up=20",       "train.attention-dropout=0.1",
                  "train.max-length=31", "validate.every=10",        "train.batch-tokens=100", "average.every=5",
                  "average.last=3",      "train.micro-batch-rows=16"};
    o.settings.insert(o.settings.end(), GetParam().settings.begin(), GetParam().settings.end());
    o.max_updates = 20;
    return o;
  }
  TemporaryFolder folder_;
};

TEST_P(RecurrentRun, OneAndTwoThreadsGiveTheSameBits) {
  TrainOptions one = options("one"), two = options("two");
  one.threads = 1;
  two.threads = 2;
  EXPECT_EQ(train(one).updates, 20);
  train(two);
  EXPECT_EQ(difference(lasting_state(two.model), lasting_state(one.model)), "");
}

// Epochs have 10 to 15 updates: one stop is in the first and one in the second, both between validations.
TEST_P(RecurrentRun, StoppedAndResumedItGivesTheBitsOfTheUnbrokenRun) {
  const TrainOptions whole = options("whole");
  train(whole);
  const State unbroken = lasting_state(whole.model);
  for (const int64_t k : {7, 16}) {
    const TrainOptions part = options("stopped" + std::to_string(k));
    EXPECT_EQ(train_until(part, k).updates, k);
    TrainOptions resumed;
    resumed.model = part.model;
    resumed.resume = true;
    resumed.threads = 1;
    EXPECT_EQ(train(resumed).updates, 20);
    EXPECT_EQ(difference(lasting_state(part.model), unbroken), "") << "stopped after " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentRun,
                         testing::Values(RecurrentRunCase{"rnn-bahdanau", {}},
                                         RecurrentRunCase{"rnn-luong-dot", {"decoder.input-feeding=true"}}));

}  // namespace
}  // namespace jumok
