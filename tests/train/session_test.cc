// Whole training runs, tiny ones: stopped, resumed, overwritten, refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>

#include "base/error.h"
#include "base/file.h"
#include "jumok/trainer.h"
#include "models/model_files.h"
#include "train/checkpoint.h"
#include "train/events.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

class Session : public testing::Test {
 protected:
  Session() : folder_(fs::temp_directory_path() / ("jumok-session-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::string source, target;
    for (int i = 0; i < 40; ++i) {
      const std::string number = std::to_string(i * 7919 % 1000);
      source += number + "\n";
      target += std::string(number.rbegin(), number.rend()) + "\n";
    }
    write_file(folder_ / "a", source);
    write_file(folder_ / "b", target);
  }
  ~Session() override { fs::remove_all(folder_); }

  TrainOptions options(const std::string& model) const {
    TrainOptions o;
    o.source = folder_ / "a";
    o.target = folder_ / "b";
    o.model = folder_ / model;
    o.preset = "transformer-tiny";
    o.subwords = "char";
    o.vocabulary = 14;
    o.settings = {"encoder.layers=1",      "decoder.layers=1", "model.width=8",         "attention.heads=1",
                  "feed-forward.width=12", "train.lanes=3",    "train.batch-tokens=50", "train.warm-up=5",
                  "validate.every=1000",   "average.every=2",  "average.last=3"};
    o.max_updates = 4;
    o.threads = 1;
    return o;
  }
  TrainOptions with_validation(const std::string& model) const {
    TrainOptions o = options(model);
    o.valid_source = o.source;
    o.valid_target = o.target;
    return o;
  }
  // What a run leaves that was killed in its first update.
  static void die_before_a_checkpoint(TrainOptions o) {
    o.max_updates = 1;
    train(o);
    for (const char* file : {"model.safetensors", "checkpoint/state.safetensors"}) fs::remove(o.model / file);
  }
  static TrainOptions resumed(const fs::path& model, int64_t max_updates) {
    TrainOptions o;
    o.model = model;
    o.resume = true;
    o.max_updates = max_updates;
    o.threads = 2;
    return o;
  }
  static std::string error_of(const TrainOptions& o) {
    try {
      train(o);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  // All numbers of a checkpoint.
  static std::string tensors_of(const fs::path& model) {
    const SafetensorsFile file = SafetensorsFile::read(model / "checkpoint/state.safetensors");
    std::string all;
    for (const NamedTensor& t : file.tensors()) all += t.bytes;
    return all;
  }

  fs::path folder_;
};

TEST_F(Session, ARunEndedAndResumedHasTheBitsOfAnUnbrokenOne) {
  TrainOptions whole = options("whole"), part = options("part");
  whole.max_updates = 11;
  part.max_updates = 5;  // between two parameter sets, inside an epoch
  train(whole);
  train(part);
  EXPECT_NE(tensors_of(part.model), tensors_of(whole.model));
  EXPECT_EQ(train(resumed(part.model, 11)).updates, 11);
  EXPECT_EQ(tensors_of(part.model), tensors_of(whole.model));
  EXPECT_EQ(read_file(part.model / "model.safetensors"), read_file(whole.model / "model.safetensors"));
}

TEST_F(Session, MoreLanesThanSentencesAndASingleShortPairTrain) {
  TrainOptions o = options("one");
  write_file(folder_ / "a1", "1\n");
  write_file(folder_ / "b1", "2\n");
  o.source = folder_ / "a1";
  o.target = folder_ / "b1";
  EXPECT_EQ(train(o).updates, 4);
}

// Given up while texts are read and the vocabulary is learnt: the model that was to be replaced stays.
TEST_F(Session, ARunGivenUpBeforeItBeginsLeavesWhatIsThere) {
  TrainOptions o = options("m");
  train(o);
  const std::string model = read_file(o.model / "model.safetensors"), state = tensors_of(o.model);
  const std::atomic<bool> stop = true;
  o.stop = &stop;
  o.overwrite = true;
  EXPECT_EQ(train(o).end, TrainEnd::kStopped);
  EXPECT_EQ(read_file(o.model / "model.safetensors"), model);
  EXPECT_EQ(tensors_of(o.model), state);
  o.model = folder_ / "new";
  EXPECT_EQ(train(o).updates, 0);
  EXPECT_FALSE(fs::exists(o.model));
}

// What the caller's function throws costs nothing but the rest of the run: its state is saved as by a stop.
TEST_F(Session, ARunWhoseCallerThrowsCanBeResumed) {
  train(options("whole"));
  TrainOptions o = options("thrown");
  o.progress = [](const TrainProgress& p) {
    if (p.update == 2) throw std::runtime_error("the caller's");
  };
  try {
    train(o);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "the caller's");
  }
  EXPECT_EQ(train(resumed(o.model, 4)).updates, 4);
  EXPECT_EQ(tensors_of(o.model), tensors_of(folder_ / "whole"));
}

TEST_F(Session, OptionsOutOfRangeAreRefusedBeforeAFileIsRead) {
  const auto refusal = [&](const std::function<void(TrainOptions&)>& change) {
    TrainOptions o = options("m");
    o.source = o.target = folder_ / "none";
    change(o);
    return error_of(o);
  };
  EXPECT_EQ(refusal([](TrainOptions& o) { o.vocabulary = 0; }), "vocabulary = 0: expected 1 or more");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.threads = -1; }), "threads = -1: expected 0 (one a core) or more");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.model.clear(); }), "model: expected a folder, found none");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.source.clear(), o.target.clear(); }),
            "training wants two files of parallel text: source and target");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.resume = o.overwrite = true, o.settings.clear(); }),
            "a resumed run goes on with the model that is there: expected no overwriting");
}

// Killed before its first checkpoint, a run has nothing to resume: it must be possible to start it again as it was.
TEST_F(Session, ARunThatEndedBeforeItsFirstCheckpointIsSimplyStartedAgain) {
  TrainOptions o = options("m");
  die_before_a_checkpoint(o);
  TrainOptions resumed;
  resumed.model = o.model;
  resumed.resume = true;
  const std::string error = error_of(resumed);
  EXPECT_NE(error.find("start it again"), std::string::npos) << error;
  EXPECT_EQ(train(o).updates, 4);
  EXPECT_NE(error_of(o).find("--overwrite"), std::string::npos);
}

TEST_F(Session, TwoTrainingsDoNotShareAFolder) {
  TrainOptions o = options("m"), other = options("m");
  other.overwrite = true;
  std::string said;
  o.progress = [&](const TrainProgress&) {
    if (said.empty()) said = error_of(other);
  };
  EXPECT_GT(train(o).updates, 0);
  EXPECT_NE(said.find("another training is at work in this folder"), std::string::npos) << said;
  EXPECT_EQ(error_of(other), "");
}

TEST_F(Session, OverwritingLeavesNothingOfTheOldRunToBeTakenForTheNew) {
  TrainOptions o = options("m");
  train(o);
  EXPECT_NE(error_of(o).find("a model is there already"), std::string::npos);
  EXPECT_TRUE(fs::exists(o.model / "checkpoint/state.safetensors"));
  o.overwrite = true;
  bool old_files = true;
  o.progress = [&](const TrainProgress& p) {
    if (p.update > 1) return;  // before the first checkpoint
    old_files = fs::exists(o.model / "model.safetensors") || fs::exists(o.model / "checkpoint/state.safetensors");
    EXPECT_THROW(load_model(o.model), Error);
  };
  train(o);
  EXPECT_FALSE(old_files);
}

// Killed, or out of disk, before it has a model of its own, a run that overwrites another has cost nothing.
TEST_F(Session, TheModelThatIsReplacedStaysUntilThereIsANewOne) {
  TrainOptions o = options("m");
  train(o);
  const std::string old_model = read_file(o.model / "model.safetensors"), old_config = read_file(o.model / "config.json");
  o.overwrite = true;
  o.seed = 7;
  o.source_subwords = o.model / "joint.spm";  // of the folder that is emptied: it was read before
  const auto expect_kept = [&] {
    EXPECT_EQ(read_file(o.model / "replaced/model.safetensors"), old_model);
    EXPECT_EQ(read_file(o.model / "replaced/config.json"), old_config);
    EXPECT_EQ(load_model(o.model / "replaced").config.width, 8);
  };
  TrainOptions ended = o;
  ended.progress = [&](const TrainProgress& p) {
    if (p.update == 1) expect_kept();
    throw std::runtime_error("ended");
  };
  EXPECT_THROW(train(ended), std::runtime_error);
  expect_kept();  // what a stopped run saves is no model to replace one with

  o.source_subwords.clear();
  train(o);
  EXPECT_FALSE(fs::exists(o.model / "replaced"));
  EXPECT_NE(read_file(o.model / "model.safetensors"), old_model);
}

// "Go on with: jumok train --resume" must do so, whatever limits the last session had.
TEST_F(Session, LimitsGivenAnewAreThoseOfTheNextTimeToo) {
  TrainOptions o = options("m");
  train(o);  // 4 updates
  TrainOptions more = resumed(o.model, 9);
  more.progress = [](const TrainProgress& p) {
    if (p.update == 5) throw std::runtime_error("stopped");
  };
  EXPECT_THROW(train(more), std::runtime_error);
  EXPECT_EQ(train(resumed(o.model, 0)).updates, 9);
  TrainOptions epochs = resumed(o.model, 0);
  epochs.max_epochs = 1;  // in the place of the updates, which are done
  EXPECT_EQ(train(epochs).end, TrainEnd::kEpochs);
  EXPECT_EQ(train(resumed(o.model, 0)).end, TrainEnd::kEpochs);
}

TEST_F(Session, ARunWithoutAUsablePairLeavesNoModel) {
  TrainOptions o = options("m");
  o.settings.push_back("train.max-length=1");
  write_file(folder_ / "a", "123\n");
  write_file(folder_ / "b", "321\n");
  EXPECT_NE(error_of(o).find("no pair of lines is left to train on"), std::string::npos);
  EXPECT_FALSE(fs::exists(o.model / "config.json"));
}

TEST_F(Session, SettingsThatDoNotFitTogetherAreRefusedBeforeAnyTextIsRead) {
  TrainOptions o = options("m");
  o.source = folder_ / "missing";
  o.settings.push_back("attention.heads=3");
  EXPECT_NE(error_of(o).find("attention.heads = 3"), std::string::npos);
  o.settings.back() = "positions.max=256";  // START and 256 symbols need 257
  EXPECT_NE(error_of(o).find("train.max-length = 256: expected less than positions.max = 256"), std::string::npos);
}

TEST_F(Session, TheLongestSentenceFillsThePositionsToTheLast) {
  TrainOptions o = with_validation("m");
  o.settings.insert(o.settings.end(), {"positions.max=8", "train.max-length=7"});
  write_file(folder_ / "a", "123456\n1\n");  // a character each and the word mark: 7 symbols, 8 rows
  write_file(folder_ / "b", "654321\n2\n");
  EXPECT_EQ(train(o).updates, 4);
}

TEST_F(Session, ResumingRefusesSettingsInsteadOfIgnoringThem) {
  TrainOptions o = options("m");
  train(o);
  TrainOptions again = resumed(o.model, 6);
  again.settings = {"train.rate=1"};
  EXPECT_NE(error_of(again).find("--set train.rate=1"), std::string::npos);
}

TEST_F(Session, AFinishedRunThatIsResumedIsNotValidatedTwice) {
  const TrainOptions o = with_validation("m");
  const auto validations = [&] {
    const std::string log = read_file(o.model / "training.jsonl");
    size_t n = 0;
    for (size_t at = log.find("\"valid\""); at != std::string::npos; at = log.find("\"valid\"", at + 1)) ++n;
    return n;
  };
  train(o);
  EXPECT_EQ(validations(), 1u);
  train(resumed(o.model, 4));
  EXPECT_EQ(validations(), 1u);
}

TEST_F(Session, ARunGoesOnWithTextsThatHaveMovedAndRemembersWhere) {
  TrainOptions whole = with_validation("whole"), part = with_validation("part");
  whole.max_updates = 6;
  train(whole);
  train(part);
  for (const char* name : {"a", "b"}) fs::rename(folder_ / name, folder_ / (std::string("moved-") + name));
  TrainOptions again = resumed(part.model, 6);
  const std::string error = error_of(again);
  EXPECT_NE(error.find("/a: expected a file, found nothing there (as "), std::string::npos) << error;
  EXPECT_NE(error.find("config.json has it"), std::string::npos) << error;
  again.source = again.valid_source = folder_ / "moved-a";
  EXPECT_NE(error_of(again).find("both files"), std::string::npos);
  again.target = again.valid_target = folder_ / "moved-b";
  EXPECT_EQ(train(again).updates, 6);
  EXPECT_EQ(tensors_of(part.model), tensors_of(whole.model));
  EXPECT_EQ(train(resumed(part.model, 7)).updates, 7);  // without naming them once more
}

TEST_F(Session, ChangedTextsAreRefusedWhereverTheyStand) {
  const TrainOptions o = with_validation("m");
  train(o);
  const std::string config = read_file(o.model / "config.json");
  write_file(folder_ / "a2", "1" + read_file(folder_ / "a"));
  TrainOptions again = resumed(o.model, 6);
  again.source = folder_ / "a2";
  again.target = o.target;
  EXPECT_NE(error_of(again).find("the training data is not what this run began with"), std::string::npos) << error_of(again);
  again = resumed(o.model, 6);
  again.valid_source = folder_ / "a2";
  again.valid_target = o.target;
  EXPECT_NE(error_of(again).find("the validation data is not what this run began with"), std::string::npos) << error_of(again);
  EXPECT_EQ(read_file(o.model / "config.json"), config);
}

TEST_F(Session, ValidationCannotBeginInTheMiddleOfARun) {
  const TrainOptions o = options("m");
  train(o);
  TrainOptions again = resumed(o.model, 6);
  again.valid_source = o.source;
  again.valid_target = o.target;
  EXPECT_NE(error_of(again).find("began without validation"), std::string::npos) << error_of(again);
}

TEST_F(Session, TyingAllEmbeddingsOfTwoVocabulariesIsRefusedOrSaid) {
  TrainOptions o = options("m");
  o.joint = false;
  std::vector<std::string> said;
  o.log = [&](LogLevel, const std::string& text) { said.push_back(text); };
  train(o);
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const std::string& s) { return s.starts_with("embedding.tying = target-output"); }));
  o.model = folder_ / "n";
  o.settings.push_back("embedding.tying=all");
  EXPECT_NE(error_of(o).find("embedding.tying = all: expected one joint vocabulary"), std::string::npos) << error_of(o);
}

TEST_F(Session, PlacesThatCannotBeWrittenAreRefusedBeforeAnyTextIsRead) {
  TrainOptions o = options("m");
  o.source = folder_ / "missing";
  o.log_json = folder_ / "none" / "log";
  EXPECT_NE(error_of(o).find("none/log: cannot be written"), std::string::npos) << error_of(o);
  o.log_json = folder_;
  EXPECT_NE(error_of(o).find("found a directory"), std::string::npos) << error_of(o);
  o.log_json = o.model / "training.jsonl";
  EXPECT_NE(error_of(o).find("expected another file"), std::string::npos);
  TrainOptions inside = options("new");
  inside.log_json = inside.model / "log";  // the folder is made by the run
  EXPECT_EQ(train(inside).updates, 4);
  EXPECT_TRUE(fs::exists(inside.log_json));
  o.log_json.clear();
  o.model = folder_ / "a" / "model";  // a is a file
  EXPECT_NE(error_of(o).find("expected a folder that can be made"), std::string::npos) << error_of(o);
}

TEST_F(Session, AStopThatComesWithTheLastUpdateLeavesAFinishedRun) {
  TrainOptions o = options("m");
  std::atomic<bool> stop{false};
  o.stop = &stop;
  o.progress = [&](const TrainProgress& p) { stop = p.update == 4; };
  EXPECT_EQ(train(o).end, TrainEnd::kUpdates);
}

TEST(Checkpoint, CountersBelowZeroAreRefused) {
  const fs::path path = fs::temp_directory_path() / ("jumok-checkpoint-" + std::to_string(::getpid()));
  ParameterLayout layout;
  layout.vector("x", 3);
  OptimizerState state{{1, 2, 3}, {0, 0, 0}, {0, 0, 0}, 5};
  Progressed progressed;
  save_checkpoint(path, layout, state, progressed);
  EXPECT_NO_THROW(load_checkpoint(path, layout, state, progressed));
  progressed.batch = -1;
  save_checkpoint(path, layout, state, progressed);
  EXPECT_THROW(load_checkpoint(path, layout, state, progressed), Error);
  fs::remove(path);
}

// JSON has no NaN: it is written as null.
TEST(Events, ALossThatIsNoNumberDoesNotBreakTheCurves) {
  nlohmann::ordered_json event = {{"event", "train"}, {"update", 20}, {"loss", std::numeric_limits<double>::quiet_NaN()}, {"rate", 0.5}};
  const TrainingCurves curves = curves_of({nlohmann::ordered_json::parse(event.dump()), nlohmann::ordered_json::parse(R"({"event": 3})")});
  ASSERT_EQ(curves.training.size(), 1u);
  EXPECT_EQ(curves.training[0].update, 20);
  EXPECT_EQ(curves.training[0].learning_rate, 0.5);
  EXPECT_TRUE(std::isnan(curves.training[0].loss));
}

}  // namespace
}  // namespace jumok
