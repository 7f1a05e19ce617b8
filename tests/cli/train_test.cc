// jumok train and jumok corpus as programs: wrong usage, and what a signal does.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "program.h"

namespace jumok {
namespace {

class TrainCommand : public testing::Test {
 protected:
  TrainCommand() {
    std::ofstream source(folder_ / "a"), target(folder_ / "b");
    for (int i = 0; i < 40; ++i) {
      const std::string number = std::to_string(i * 7919 % 1000);
      source << number << "\n";
      target << std::string(number.rbegin(), number.rend()) << "\n";
    }
  }
  std::string path(const std::string& name) const { return "'" + (folder_ / name) + "'"; }
  std::string texts() const { return " --source " + path("a") + " --target " + path("b"); }
  std::string tiny() const {
    return " --model " + path("m") +
           " --preset transformer-tiny --subwords char --vocabulary 14 --threads 1 --set encoder.layers=1 --set decoder.layers=1"
           " --set model.width=8 --set attention.heads=1 --set feed-forward.width=12 --set train.lanes=1 --set train.batch-tokens=50"
           " --set average.every=100000";
  }
  void expect_wrong_usage(const std::string& arguments, const std::string& message) const {
    const Outcome o = run_jumok(arguments);
    EXPECT_EQ(o.status, 2) << arguments << ": " << o.err;
    EXPECT_NE(o.err.find(message), std::string::npos) << arguments << ": " << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "m"));
  }

  TemporaryFolder folder_;
};

TEST_F(TrainCommand, ListedSettingsAreThoseThatWereSet) {
  const Outcome o = run_jumok("train --list-settings --preset transformer-tiny --set model.width=16 --set train.dropout=0.25");
  EXPECT_EQ(o.status, 0);
  EXPECT_NE(o.out.find("model.width = 16 "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("train.dropout = 0.25 "), std::string::npos) << o.out;
  expect_wrong_usage("train --list-settings --set model.width=8.5", "model.width = 8.5: expected a whole number, 8 … 8192");
}

TEST_F(TrainCommand, WhatIsWrongWithTheOptionsAloneIsWrongUsage) {
  const std::string run = "train" + texts() + " --model " + path("m");
  expect_wrong_usage(run + " --set frobnicate=1", "there is no setting \"frobnicate\" (see");
  expect_wrong_usage(run + " --set model.width", "expected key=value");
  expect_wrong_usage(run + " --set attention.heads=3", "attention.heads = 3");
  expect_wrong_usage(run + " --set embedding.tying=all --separate", "expected one joint vocabulary");
  expect_wrong_usage(run + " --valid-source " + path("a"), "--valid-target is required");
  expect_wrong_usage(run + " --seed -1", "--seed: expected a whole number from 0");
  expect_wrong_usage(run + " --max-time nan", "--max-time: expected a number from 0");
  expect_wrong_usage("train --model " + path("m") + " --source " + path("a"), "--target is required");
  expect_wrong_usage("bench train --set frobnicate=1", "there is no setting");
}

// An unset variable of a script must not quietly train without validation or log.
TEST_F(TrainCommand, EmptyNamesAreWrongUsage) {
  const std::string run = "train" + texts() + " --model " + path("m");
  for (const char* option : {"--valid-source", "--log-json", "--source-subwords"}) {
    expect_wrong_usage(run + " " + option + " ''", std::string(option) + ": expected FILE behind it, found an empty name");
  }
  expect_wrong_usage("train" + texts() + " --model ''", "--model: expected DIR behind it, found an empty name");
}

TEST_F(TrainCommand, OptionsWithoutEffectAreWrongUsage) {
  const std::string run = "train" + texts() + " --model " + path("m");
  expect_wrong_usage(run + " --target-subwords x", "--target-subwords: expected --source-subwords too");
  expect_wrong_usage(run + " --source-subwords x --vocabulary 100", "--vocabulary: not with --source-subwords");
  for (const char* option : {"--preset transformer-tiny", "--set a=b", "--seed 1", "--separate", "--overwrite", "--vocabulary 9"}) {
    expect_wrong_usage("train --resume --model " + path("m") + " " + option, "not with --resume");
  }
}

TEST_F(TrainCommand, CorpusOptionsThatContradictEachOtherAreWrongUsage) {
  const std::string run = "corpus --output " + path("m") + " --tsv x ";
  expect_wrong_usage(run + "--to de --tsv-columns 0 1", "--tsv-columns: expected a whole number from 1");
  expect_wrong_usage(run + "--to de --min-words 9 --max-words 2", "found 9 and 2");
  expect_wrong_usage(run + "--to de --min-ratio 2 --max-ratio 1", "found 2 and 1");
  expect_wrong_usage(run + "--to de --min-script nan", "--min-script: expected a number from 0 to 1, found 'nan'");
  expect_wrong_usage(run + "--to de --seed -1", "--seed: expected");
  expect_wrong_usage(run + "--to en", "two different languages");
  expect_wrong_usage("corpus --to de --output " + path("m"), "at least one of");
  expect_wrong_usage("corpus --pair a --to de --output " + path("m"), "--pair: expected FILE FILE behind it, found the option '--to'");
  expect_wrong_usage("corpus --to de --pair a b --pair --output " + path("m"),
                     "--pair: expected FILE FILE behind it, found the option '--output'");
  expect_wrong_usage("corpus --to de --output " + path("m") + " --pair a", "--pair: expected FILE FILE behind it");
  expect_wrong_usage("corpus --to de --pair a b --tsv-columns 1 2 --output " + path("m"), "--tsv-columns: expected --tsv too");
}

TEST_F(TrainCommand, AnImpossibleOutputFolderOfACorpusIsNoticedBeforeItIsRead) {
  const Outcome o = run_jumok("corpus --to de --tsv /nowhere --output " + path("a") + "/b");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("expected a folder that can be made"), std::string::npos) << o.err;
}

TEST_F(TrainCommand, ALogOnAFullDiskEndsTheRunWithTheSystemsReason) {
  const Outcome o = run_jumok("train" + texts() + tiny() + " --max-updates 20 --log-json /dev/full");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("jumok: /dev/full: cannot be written: No space left on device\n"), std::string::npos) << o.err;
}

// A disk that is full when a checkpoint is written (here: a limit on the size of files, which the system enforces in the same place): one
// line says so, and the last whole state is there to go on from.
TEST_F(TrainCommand, ACheckpointThatFindsNoRoomLeavesTheLastOneWhole) {
  ASSERT_EQ(run_jumok("train" + texts() + tiny() + " --set model.width=64 --max-updates 4").status, 0);
  const std::string sums = "cd " + path("m") + " && sha256sum model.safetensors checkpoint/state.safetensors";
  const std::string before = run_shell(sums).out;
  ASSERT_EQ(std::count(before.begin(), before.end(), '\n'), 2);
  const Outcome o =
      run_shell("trap '' XFSZ; ulimit -f $(($(stat -c %s " + path("m") +
                "/checkpoint/state.safetensors) / 1024)); \"$JUMOK_CLI\" train --resume --max-epochs 2 --quiet --model " + path("m"));
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("state.safetensors: cannot be written: File too large\n"), std::string::npos) << o.err;
  EXPECT_EQ(run_shell(sums).out.substr(before.find('\n')), before.substr(before.find('\n')));
  const Outcome more = run_jumok("train --resume --max-updates 6 --model " + path("m"));
  EXPECT_EQ(more.status, 0) << more.err;
}

// Learning a vocabulary takes minutes where text is plenty, and nothing of it is kept: there is nothing to wait for.
TEST_F(TrainCommand, ASignalDuringTheVocabularysTrainingEndsItAtOnceAndLeavesNothing) {
  {
    std::ofstream text(folder_ / "words");
    uint64_t state = 1;  // words that never come again, which is what takes time
    for (int i = 0; i < 400000; ++i) {
      for (int j = 0; j < 6; ++j) text << static_cast<char>('a' + ((state = state * 6364136223846793005 + 1442695040888963407) >> 33) % 26);
      text << (i % 8 == 7 ? '\n' : ' ');
    }
  }
  // Texts that come through pipes show when both have been read, a moment before the training. The program runs in the foreground: a
  // shell lets its background work ignore SIGINT.
  const std::string words = path("words"), source = path("source"), target = path("target"), id = path("id");
  for (const auto& [name, status] : {std::pair{"INT", 130}, std::pair{"TERM", 143}}) {
    const Outcome o = run_shell("rm -f " + source + " " + target + "; mkfifo " + source + " " + target + "; { timeout 60 cat " + words +
                                " >" + source + " && timeout 60 cat " + words + " >" + target + " && sleep 0.1 && kill -" + name +
                                " $(cat " + id + "); } & export ID=" + id + "; sh -c 'echo $$ >\"$ID\"; exec \"$JUMOK_CLI\" train" +
                                " --source \"$1\" --target \"$2\" --preset transformer-tiny --model \"$3\"' sh " + source + " " + target +
                                " " + path("m"));
    EXPECT_EQ(o.status, status) << o.err;
    EXPECT_EQ(o.err.find("jumok"), std::string::npos) << o.err;  // the shell may say "Terminated"
    EXPECT_FALSE(std::filesystem::exists(folder_ / "m"));
  }
}

// A script that trains and goes on must not take a stopped run for a finished one.
TEST_F(TrainCommand, AStoppedRunLeavesWithTheStatusOfItsSignalAndCanGoOn) {
  for (const auto& [name, status] : {std::pair{"INT", 130}, std::pair{"TERM", 143}}) {
    const Outcome o =
        run_shell("rm -rf " + path("m") + "; \"$JUMOK_CLI\" train" + texts() + tiny() + " & i=0; while ! grep -q train " + path("m") +
                  "/training.jsonl 2>/dev/null && [ $i -lt 500 ]; do sleep 0.1;"
                  " i=$((i+1)); done; kill -" +
                  name + " $!; wait $!");
    EXPECT_EQ(o.status, status) << o.err;
    EXPECT_NE(o.err.find("go on with: jumok train --resume"), std::string::npos) << o.err;
  }
  const Outcome o = run_jumok("train --resume --max-epochs 1 --model " + path("m"));
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("\ntrain in 0:"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace jumok
