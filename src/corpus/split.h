// Dividing sentence pairs into training, development and test part: reproducible, and without leaks between the parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "corpus/language.h"
#include "corpus/pair.h"

namespace jumok {

enum class Part : uint8_t { kTrain, kDev, kTest, kLeftOut };

struct SplitOptions {
  int dev = 700, test = 700;   // wanted pairs
  double max_fraction = 0.05;  // of all pairs: neither part gets more
  int min_words = 3;           // shorter sources (menu words) say little in a test and stay in training; pages go whole
  uint64_t seed = 1;
};

// Pairs are dealt out in groups: a page of a manual is one group, else all pairs with the same source key (fold_text). Groups are ordered
// by a hash of their own name and the seed alone. The first that fit fill the test part, the next the development part, the rest is for
// training. So a pair's place in the order never changes when others come or go; only those next to the border may move.
//
// Then pairs of which either side has the same key as a side of a test pair are left out of the other parts, and those with the key of a
// development pair are left out of training. (The other way, to put all pairs connected by a shared key into one part, ties most of a
// catalogue into one lump: "Open" – "열기" – "Opening" – …, and makes a pair's part depend on all others.)
std::vector<Part> split_pairs(std::span<const TextPair> pairs, const Language& from, const SplitOptions& options);

// The group's place in the order.
uint64_t split_order(const TextPair& pair, uint64_t seed);

}  // namespace jumok
