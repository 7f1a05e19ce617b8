// The model that a run overwrites: where a killed run may leave it, and that it is whole again after the next.
#include "train/replaced_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

class ReplacedModel : public testing::Test {
 protected:
  ReplacedModel() : folder_(fs::temp_directory_path() / ("jumok-replaced-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ReplacedModel() override { fs::remove_all(folder_); }

  void put_model(const fs::path& where, const std::string& mark) const {
    fs::create_directories(where);
    for (const char* name : {"model.safetensors", "joint.spm", "config.json"}) write_file(where / name, mark);
  }
  void expect_model(const std::string& mark) const {
    for (const char* name : {"model.safetensors", "joint.spm", "config.json"}) {
      ASSERT_TRUE(fs::exists(folder_ / "replaced" / name)) << name;
      EXPECT_EQ(read_file(folder_ / "replaced" / name), mark) << name;
      EXPECT_FALSE(fs::exists(folder_ / name)) << name;
    }
  }

  fs::path folder_;
};

TEST_F(ReplacedModel, StaysWholeUntilItIsForgotten) {
  put_model(folder_, "old");
  EXPECT_FALSE(holds_replaced_model(folder_));
  set_aside_model(folder_);
  expect_model("old");
  EXPECT_TRUE(holds_replaced_model(folder_));
  put_model(folder_, "of a run that was given up");
  set_aside_model(folder_);
  expect_model("old");
  forget_replaced_model(folder_);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ReplacedModel, AMoveThatWasBrokenOffIsFinished) {
  put_model(folder_, "old");
  fs::create_directories(folder_ / "replaced");
  fs::rename(folder_ / "model.safetensors", folder_ / "replaced/model.safetensors");
  EXPECT_TRUE(holds_replaced_model(folder_));
  set_aside_model(folder_);
  expect_model("old");
}

// Forgetting begins with the config, so that half of a model is not taken for one, and the finished model is what is kept.
TEST_F(ReplacedModel, AForgettingThatWasBrokenOffCostsNothing) {
  put_model(folder_ / "replaced", "forgotten");
  fs::remove(folder_ / "replaced/config.json");
  put_model(folder_, "new");
  set_aside_model(folder_);
  expect_model("new");
}

TEST_F(ReplacedModel, AFolderOfThatNameKeepsWhatIsNotOurs) {
  write_file((fs::create_directories(folder_ / "replaced"), folder_ / "replaced/notes.txt"), "mine");
  put_model(folder_, "old");
  set_aside_model(folder_);
  forget_replaced_model(folder_);
  forget_replaced_model(folder_);
  EXPECT_EQ(read_file(folder_ / "replaced/notes.txt"), "mine");
}

}  // namespace
}  // namespace jumok
