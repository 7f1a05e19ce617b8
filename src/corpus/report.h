// What became of the pairs of each source of text.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "corpus/pair.h"

namespace jumok {

inline constexpr size_t kDropCount = static_cast<size_t>(Drop::kCount);

struct SourceReport {
  std::string kind, path;                       // "catalogues", "libreoffice-help", "tsv", "pair"; as given
  size_t read = 0, kept = 0;                    // pairs
  std::array<size_t, kDropCount> dropped{};     // by reason
  std::array<std::string, kDropCount> example;  // the first pair of each reason: place, source, target

  void count(Drop reason, const TextPair& pair);
};

struct CorpusReport {
  std::string from, to;
  uint64_t seed = 0;
  std::vector<SourceReport> sources;
  size_t train = 0, dev = 0, test = 0;
  size_t near_dev_or_test = 0;  // left out of training (or dev): too close to a pair of test (or dev)
};

// "length ratio": for people; the JSON report writes '_' for the space.
const char* drop_name(Drop reason);

std::string report_json(const CorpusReport& report);
std::string report_text(const CorpusReport& report);

}  // namespace jumok
