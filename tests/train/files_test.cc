// What a run keeps beside its model: sets for the mean, the log, the checkpoint.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "digit_task.h"
#include "train/checkpoint.h"
#include "train/events.h"
#include "train/snapshots.h"

namespace jumok {
namespace {
namespace fs = std::filesystem;

class SnapshotsTest : public testing::Test {
 protected:
  SnapshotsTest() {
    fs::create_directories(path_);
    place_ = layout_.vector("w", 3).offset;
  }
  void add(Snapshots& snapshots, int64_t update, float value) {
    std::vector<float> block(layout_.size());
    for (int i = 0; i < 3; ++i) block[place_ + i] = value * static_cast<float>(i + 1);
    snapshots.add(update, block.data());
  }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator())); }

  TemporaryFolder folder_;
  const fs::path path_ = folder_ / "checkpoint";
  ParameterLayout layout_;
  int64_t place_ = 0;
};

TEST_F(SnapshotsTest, TheMeanIsOfTheLastSets) {
  Snapshots snapshots(path_, layout_, 2);
  EXPECT_TRUE(snapshots.mean().empty());
  add(snapshots, 5, 100);
  EXPECT_EQ(snapshots.mean()[place_ + 2], 300);
  add(snapshots, 10, 1);
  add(snapshots, 15, 4);
  EXPECT_EQ(snapshots.updates(), (std::vector<int64_t>{10, 15}));
  EXPECT_EQ(snapshots.mean()[place_], 2.5f);
  EXPECT_EQ(snapshots.mean()[place_ + 2], 7.5f);
}

TEST_F(SnapshotsTest, OldSetsStayUntilTheCheckpointThatNamesThemIsReplaced) {
  Snapshots snapshots(path_, layout_, 1);
  add(snapshots, 5, 1);
  add(snapshots, 10, 2);
  EXPECT_EQ(files(), 2u);
  snapshots.prune();
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(snapshots.mean()[place_], 2);
}

TEST_F(SnapshotsTest, AResumedRunTakesItsSetsOverAndClearsTheRest) {
  {
    Snapshots snapshots(path_, layout_, 3);
    for (const int64_t u : {5, 10, 15}) add(snapshots, u, static_cast<float>(u));
  }
  const Snapshots resumed(path_, layout_, 3, {5, 10});  // the checkpoint was saved before update 15
  EXPECT_EQ(resumed.mean()[place_], 7.5f);
  EXPECT_EQ(files(), 2u);
  EXPECT_THROW(Snapshots(path_, layout_, 3, {5, 10, 15}), Error);
}

class EventLogTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const fs::path path_ = folder_ / "training.jsonl";
};

TEST_F(EventLogTest, ResumingDropsHalfLinesAndEventsAfterTheCheckpoint) {
  std::ofstream(path_) << R"({"event": "train", "update": 20, "loss": 2.5})"
                       << "\n"
                       << R"({"event": "valid", "update": 30, "loss": 2.0, "bleu": 1.5})"
                       << "\n"
                       << "17\n"
                       << R"({"event": "train", "update": 40, "loss": 1.5})"
                       << "\n"
                       << R"({"event": "tra)";
  EventLog log(path_, {}, 30, true);
  ASSERT_EQ(log.events().size(), 2u);
  log.write({{"event", "train"}, {"update", 40}, {"loss", 1.25}});
  EXPECT_EQ(log.events().size(), 3u);
  std::istringstream lines(read_file(path_));
  std::vector<nlohmann::json> written;
  for (std::string line; std::getline(lines, line);) written.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(written.size(), 3u);
  EXPECT_EQ(written[1].at("update"), 30);
  EXPECT_EQ(written[2].at("loss"), 1.25);
}

TEST_F(EventLogTest, AFreshRunStartsEmptyAndASecondFileIsAppendedTo) {
  std::ofstream(path_) << R"({"event": "train", "update": 1})"
                       << "\n";
  std::ofstream(folder_ / "second") << "old\n";
  EventLog log(path_, folder_ / "second", 0, false);
  log.write({{"event", "train"}, {"update", 2}});
  EXPECT_EQ(read_file(path_), "{\"event\":\"train\",\"update\":2}\n");
  EXPECT_EQ(read_file(folder_ / "second"), "old\n{\"event\":\"train\",\"update\":2}\n");
  EXPECT_THROW(EventLog(path_, "/nowhere/log", 0, false), Error);
}

TEST_F(EventLogTest, AFullDiskIsNoticed) {
  EventLog log(path_, "/dev/full", 0, false);
  EXPECT_THROW(log.write({{"update", 1}}), Error);
}

TEST_F(EventLogTest, CurvesTakeTrainingAndValidationApart) {
  const TrainingCurves curves = curves_of({{{"event", "train"}, {"update", 20}, {"seconds", 1.5}, {"loss", 2.5}, {"rate", 0.01}},
                                           {{"event", "valid"}, {"update", 30}, {"loss", 2.0}, {"bleu", 12.5}, {"chrf", 30.0}},
                                           {{"event", "other"}}});
  ASSERT_EQ(curves.training.size(), 1u);
  ASSERT_EQ(curves.validation.size(), 1u);
  EXPECT_EQ(curves.training[0].loss, 2.5);
  EXPECT_EQ(curves.validation[0].update, 30);
  EXPECT_EQ(curves.validation[0].bleu, 12.5);
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    layout_.matrix("w", 3, 5);
    layout_.vector("b", 7);
    for (auto* block : {&state_.parameters, &state_.m, &state_.v}) {
      block->resize(layout_.size());
      layout_.initialise(block->data(), seed_++);
    }
  }

  TemporaryFolder folder_;
  const fs::path path_ = folder_ / "state.safetensors";
  ParameterLayout layout_;
  OptimizerState state_;
  uint64_t seed_ = 1;
};

TEST_F(CheckpointTest, EverythingComesBack) {
  state_.updates = 1234567890123;
  Progressed p;
  p.epoch = 3;
  p.batch = 17;
  p.seconds = 12.5;
  p.tokens = 1LL << 40;
  p.best_score = 0.1;  // no exact double: it must come back bit for bit
  p.best_update = 40;
  p.validations_without_best = 2;
  p.snapshots = {5, 10};
  p.corpus = 0xFEDCBA9876543210ULL;
  save_checkpoint(path_, layout_, state_, p);
  OptimizerState state;
  Progressed q;
  load_checkpoint(path_, layout_, state, q);
  EXPECT_EQ(state.parameters, state_.parameters);
  EXPECT_EQ(state.m, state_.m);
  EXPECT_EQ(state.v, state_.v);
  EXPECT_EQ(state.updates, state_.updates);
  EXPECT_EQ(
      std::tie(q.epoch, q.batch, q.seconds, q.tokens, q.best_score, q.best_update, q.validations_without_best, q.snapshots, q.corpus),
      std::tie(p.epoch, p.batch, p.seconds, p.tokens, p.best_score, p.best_update, p.validations_without_best, p.snapshots, p.corpus));
}

TEST_F(CheckpointTest, CutOrForeignFilesAreRefusedByName) {
  save_checkpoint(path_, layout_, state_, {});
  const std::string whole = read_file(path_);
  ParameterLayout other;
  other.matrix("w", 5, 3);
  other.vector("b", 7);
  const auto error = [&](const ParameterLayout& layout) -> std::string {
    OptimizerState state;
    Progressed p;
    try {
      load_checkpoint(path_, layout, state, p);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error(layout_), "");
  EXPECT_NE(error(other).find("parameters.w"), std::string::npos) << error(other);
  for (const size_t size : {size_t{0}, size_t{7}, whole.size() / 2, whole.size() - 1}) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    EXPECT_NE(error(layout_).find("state.safetensors"), std::string::npos) << size;
  }
}

}  // namespace
}  // namespace jumok
