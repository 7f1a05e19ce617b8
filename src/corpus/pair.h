// A sentence pair on its way from a source of text to the corpus.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace jumok {

// Why a pair did not get into the corpus. kKept is no reason at all; kCount closes the list.
enum class Drop : uint8_t {
  kKept,
  kMalformed,
  kFuzzy,
  kEmpty,
  kMisencoded,
  kPlaceholder,
  kPlaceholderMismatch,
  kNoWords,
  kFewLetters,
  kWrongSourceScript,
  kWrongTargetScript,
  kUntranslated,
  kTooShort,
  kTooLong,
  kLengthRatio,
  kNumbers,
  kDuplicate,
  kCount
};

struct TextPair {
  std::string source, target;  // UTF-8
  std::string place;           // where it was found, for people: "file:line", "file#paragraph"
  uint64_t page = 0;           // not 0: pairs of one page (hash of its name) that belong into one part of the split
  bool access_keys = false;    // text of menus and buttons, which may hold the marks _ & ~ of access keys
  Drop drop = Drop::kKept;     // set by a reader that knows already that this is no pair
};

// Receives the pairs of a source of text one by one.
using PairSink = std::function<void(TextPair&&)>;

}  // namespace jumok
