// Laws of the split, on a random corpus with planted near-duplicates.
#include "corpus/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "corpus/clean.h"
#include "jumok/error.h"

namespace jumok {
namespace {

TextPair make_pair(std::string source, std::string target, uint64_t page = 0) {
  return {.source = std::move(source), .target = std::move(target), .place = {}, .page = page};
}

std::string random_words(std::mt19937& random, const char* const (&words)[8], int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i > 0 ? " " : "") + std::string(words[random() % 8]);
  return text;
}

// 8^4 possible sources, so many repeat; every third pair is a variant of an earlier one.
std::vector<TextPair> random_corpus(size_t size) {
  std::mt19937 random(3);
  static constexpr const char* kEnglish[8] = {"open", "close", "file", "window", "save", "print", "the", "page"};
  static constexpr const char* kKorean[8] = {"열기", "닫기", "파일", "창", "저장", "인쇄", "그", "쪽"};
  std::vector<TextPair> pairs;
  while (pairs.size() < size) {
    if (pairs.size() % 3 != 2) {
      pairs.push_back(make_pair(random_words(random, kEnglish, 4), random_words(random, kKorean, 3)));
      continue;
    }
    TextPair near = pairs[random() % pairs.size()];
    near.source[0] = static_cast<char>(near.source[0] ^ 0x20);
    switch (random() % 3) {
      case 0:
        near.source += " 12!";
        near.target = random_words(random, kKorean, 5);
        break;
      case 1:
        near.source = "new " + random_words(random, kEnglish, 4);
        near.target += " (3)";
        break;
      default:
        near.target += ".";
        break;
    }
    pairs.push_back(near);
  }
  return pairs;
}

const SplitOptions kOptions{.dev = 40, .test = 60, .max_fraction = 0.1, .min_words = 3, .seed = 5};

TEST(Split, NoSideOfATestOrDevPairOccursInALaterPart) {
  const auto pairs = random_corpus(3000);
  const auto parts = split_pairs(pairs, find_language("en"), kOptions);
  std::map<std::string, std::set<Part>> sources, targets;
  std::map<Part, size_t> sizes;
  for (size_t i = 0; i < pairs.size(); ++i) {
    ++sizes[parts[i]];
    if (parts[i] == Part::kLeftOut) continue;
    sources[fold_text(pairs[i].source)].insert(parts[i]);
    targets[fold_text(pairs[i].target)].insert(parts[i]);
  }
  EXPECT_EQ(sizes[Part::kTest], 60U);
  EXPECT_EQ(sizes[Part::kDev], 40U);
  EXPECT_GT(sizes[Part::kTrain], 2000U);
  EXPECT_GT(sizes[Part::kLeftOut], 0U);  // the planted ones were there
  for (const auto* sides : {&sources, &targets}) {
    for (const auto& [key, in] : *sides) EXPECT_EQ(in.size(), 1U) << key;
  }
}

TEST(Split, SameSeedSameSplitOtherSeedOther) {
  const auto pairs = random_corpus(1000);
  const auto english = find_language("en");
  EXPECT_EQ(split_pairs(pairs, english, kOptions), split_pairs(pairs, english, kOptions));
  SplitOptions other = kOptions;
  other.seed = 6;
  EXPECT_NE(split_pairs(pairs, english, kOptions), split_pairs(pairs, english, other));
}

TEST(Split, AddingAPairMovesNoOthersPlaceAndNoMoreThanTheBorder) {
  auto pairs = random_corpus(1000);
  const auto before = split_pairs(pairs, find_language("en"), kOptions);
  const uint64_t order = split_order(pairs[0], 5);
  pairs.push_back(make_pair("a wholly new sentence here", "완전히 새로운 문장"));
  const auto after = split_pairs(pairs, find_language("en"), kOptions);
  EXPECT_EQ(split_order(pairs[0], 5), order);
  size_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i] ? 1 : 0;
  EXPECT_LE(moved, 10U);
}

TEST(Split, CaseDigitsPunctuationAndSpacesDoNotChangeThePlace) {
  EXPECT_EQ(split_order(make_pair("Open file 1.", "x"), 1), split_order(make_pair("open  FILE (27)", "y"), 1));
  EXPECT_NE(split_order(make_pair("Open file", "x"), 1), split_order(make_pair("Open files", "x"), 1));
}

TEST(Split, PagesStayTogether) {
  std::vector<TextPair> pairs;
  for (int i = 0; i < 400; ++i) {
    std::string word = "paragraph";
    for (int n = i; n > 0; n /= 26) word.push_back(static_cast<char>('a' + n % 26));
    pairs.push_back(make_pair("this is " + word, "이것은 " + word, 1 + static_cast<uint64_t>(i) / 4));
  }
  const auto parts = split_pairs(pairs, find_language("en"), kOptions);
  std::map<uint64_t, std::set<Part>> pages;
  for (size_t i = 0; i < pairs.size(); ++i) pages[pairs[i].page].insert(parts[i]);
  for (const auto& [page, in] : pages) EXPECT_EQ(in.size(), 1U) << page;
  EXPECT_EQ(std::count(parts.begin(), parts.end(), Part::kTest), 40);  // a tenth of 400, in whole pages of 4
}

TEST(Split, SmallCorporaKeepTheirTrainingPart) {
  const auto pairs = random_corpus(30);
  const auto parts = split_pairs(pairs, find_language("en"), {});
  EXPECT_LE(std::count(parts.begin(), parts.end(), Part::kTest), 1);
  EXPECT_TRUE(split_pairs({}, find_language("en"), {}).empty());
  EXPECT_THROW(split_pairs(pairs, find_language("en"), {.dev = -1}), Error);
}

}  // namespace
}  // namespace jumok
