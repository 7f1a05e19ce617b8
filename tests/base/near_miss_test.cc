#include "base/near_miss.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace jumok {
namespace {

const std::vector<std::string> kCommands = {"corpus", "train", "translate", "align", "score", "evaluate", "bench", "info"};

TEST(NearMiss, DistancesAreThoseOfTheTextbook) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("form", "from"), 1u);  // neighbours swapped
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(NearMiss, TheFirstOfEquallyNearWordsIsTaken) { EXPECT_EQ(near_miss("layer", {"player", "layers", "width"}), "player"); }

TEST(NearMiss, FindsSwappedMissingWrongAndExtraLetters) {
  EXPECT_EQ(near_miss("trian", kCommands), "train");
  EXPECT_EQ(near_miss("trnslate", kCommands), "translate");
  EXPECT_EQ(near_miss("evaluete", kCommands), "evaluate");
  EXPECT_EQ(near_miss("scores", kCommands), "score");
  EXPECT_EQ(near_miss("--modle", {"--model", "--mode-line"}), "--model");
}

TEST(NearMiss, CompletesAnUnambiguousBeginningOnly) {
  EXPECT_EQ(near_miss("eval", kCommands), "evaluate");
  EXPECT_EQ(near_miss("tra", kCommands), "");
  EXPECT_EQ(near_miss("--so", {"--source", "--target"}), "--source");
}

TEST(NearMiss, SaysNothingAboutStrangers) {
  EXPECT_EQ(near_miss("frobnicate", kCommands), "");
  EXPECT_EQ(near_miss("", kCommands), "");
  EXPECT_EQ(near_miss("-", {"-h", "--help"}), "-h");  // one letter left out
  EXPECT_EQ(near_miss("train", {}), "");
}

// Stored in models and in the split of corpora. The values are the described formula's, computed in Python.
TEST(Hash, TextHashesNeverChange) {
  EXPECT_EQ(hash_text(""), 0xe220a8397b1dcdafu);
  EXPECT_NE(hash_text("a"), hash_text(std::string_view("a\0", 2)));
  EXPECT_NE(hash_text("abc", 1), hash_text("abc", 2));
}

}  // namespace
}  // namespace jumok
