#include "base/near_miss.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace jumok {
namespace {

TEST(NearMiss, DistancesAreThoseOfTheTextbook) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("form", "from"), 1u);  // neighbours swapped
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(NearMiss, TheFirstOfEquallyNearWordsIsTaken) {
  EXPECT_EQ(nearest("layer", {"player", "layers", "width"}), "player");
  EXPECT_EQ(nearest("x", {}), "");
}

// Stored in models and in the split of corpora. The values are the described formula's, computed in Python.
TEST(Hash, TextHashesNeverChange) {
  EXPECT_EQ(hash_text(""), 0xe220a8397b1dcdafu);
  EXPECT_NE(hash_text("a"), hash_text(std::string_view("a\0", 2)));
  EXPECT_NE(hash_text("abc", 1), hash_text("abc", 2));
}

}  // namespace
}  // namespace jumok
