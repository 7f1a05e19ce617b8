#include "lab/lookup.h"

#include <gtest/gtest.h>

#include <cmath>

namespace jumok {
namespace {

// N_w: the 4, file 3, open 2, cells 2, delete 2, all others 1. So idf: the 1 + ln(6/5) = 1.182322, file 1 + ln(6/4) = 1.405465,
// open, cells, delete 1 + ln(6/3) = 1.693147, save, user, chose 1 + ln(6/2) = 2.098612, unseen words 1 + ln(6/1) = 2.791759.
const std::vector<std::string> kLines = {"Open the file", "Save the file…", "the FILE: open!", "Delete cells",
                                         "Delete the cells the user chose"};

TEST(LookupWords, AreSplitAtSpaceAndPunctuationOfAnyScriptAndFolded) {
  const std::vector<std::string> expected = {"don", "t", "öffne", "c++", "파일을", "42"};
  EXPECT_EQ(lookup_words("  “Don't” ÖFFNE\u00A0C++…파일을、42"), expected);
  EXPECT_TRUE(lookup_words(" … - ! ").empty());
}

// |a("save file")| = √(2.098612² + 1.405465²) = 2.525737, |a(line 1)| = √(2.098612² + 1.182322² + 1.405465²) = 2.788764; both words are in
// line 1, so the cosine is 2.525737 / 2.788764 = 0.905683.
TEST(Lookup, SimilarityIsTheCosineOfWeightedBags) {
  const auto match = Lookup(kLines).nearest("File, save");
  EXPECT_EQ(match.line, 1);
  EXPECT_NEAR(match.similarity, 0.905683, 1e-6);
}

// "the" counts twice in the question, 2 · 1.182322, and in line 4: (2.364644² + 1.693147²) / (|question| = 2.908306) / (|line 4|
// = 4.487024).
TEST(Lookup, RepeatedWordsCountEachTime) {
  const auto match = Lookup(kLines).nearest("the the cells");
  EXPECT_EQ(match.line, 4);
  EXPECT_NEAR(match.similarity, 0.648161, 1e-6);
}

TEST(Lookup, RareWordsDecideAgainstMoreFrequentOnes) {
  // "user" (one line) against "file open" … "the" is in nearly all of them.
  EXPECT_EQ(Lookup(kLines).nearest("the user").line, 4);
  EXPECT_EQ(Lookup(kLines).nearest("Delete").line, 3);  // also in line 4, but the longer line is less alike
}

TEST(Lookup, OfEqualBagsTheFirstWinsWhateverTheirOrderAndPunctuation) {
  EXPECT_EQ(Lookup(kLines).nearest("open the file").line, 0);
  std::vector<std::string> reversed(kLines.rbegin(), kLines.rend());  // now "the FILE: open!" is line 2 and "Open the file" line 4
  EXPECT_EQ(Lookup(reversed).nearest("file open the").line, 2);
}

TEST(Lookup, SameBagHasSimilarityOne) {
  for (const std::string& line : kLines) EXPECT_NEAR(Lookup(kLines).nearest(line).similarity, 1, 1e-12) << line;
}

// 2.525737 of the two known words, with the unseen one √(2.525737² + 2.791759²) = 3.764657; 0.905683 · 2.525737 / 3.764657 = 0.607621.
TEST(Lookup, UnseenWordsLowerTheSimilarityAndChangeNoChoice) {
  const auto match = Lookup(kLines).nearest("save file zyx");
  EXPECT_EQ(match.line, 1);
  EXPECT_NEAR(match.similarity, 0.607621, 1e-6);
}

TEST(Lookup, NothingInCommonIsNoMatch) {
  for (const char* text : {"", "…", "zyx", "\xFF"}) {
    EXPECT_EQ(Lookup(kLines).nearest(text).line, -1) << text;
    EXPECT_EQ(Lookup(kLines).nearest(text).similarity, 0) << text;
  }
  EXPECT_EQ(Lookup({}).nearest("file").line, -1);
}

TEST(Lookup, LinesWithoutWordsAreNeverChosen) {
  const std::vector<std::string> lines = {"", "…", "file"};
  EXPECT_EQ(Lookup(lines).nearest("a file").line, 2);
}

}  // namespace
}  // namespace jumok
