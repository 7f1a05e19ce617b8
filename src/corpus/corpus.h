// A corpus of sentence pairs from several sources of text: read, cleaned, split, written.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "corpus/clean.h"
#include "corpus/pair.h"
#include "corpus/report.h"
#include "corpus/split.h"
#include "corpus/tsv.h"

namespace jumok {

struct CorpusRequest {
  std::string from = "en", to;                                                 // language codes; also the endings of the written files
  std::vector<std::filesystem::path> catalogues;                               // folders with .mo and .po files (catalogue_pairs.h)
  std::vector<std::filesystem::path> help;                                     // folders with LibreOffice's help pages (help_pages.h)
  std::vector<std::filesystem::path> tsv;                                      // files of tab-separated fields (tsv.h)
  TsvColumns columns;                                                          // of all TSV files
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> pairs;  // two files, line by line
  CleanOptions clean;
  SplitOptions split;
};

struct Corpus {
  std::vector<TextPair> pairs;  // kept ones, in the order they were read
  std::vector<Part> parts;      // one for each pair
  CorpusReport report;
};

// Throws Error where options contradict each other whatever the texts hold; build_corpus does it too.
void check_request(const CorpusRequest& options);

// Reads and cleans everything, sources in the order of the fields above. Throws Error for unusable sources or options, and when no pair is
// kept.
Corpus build_corpus(const CorpusRequest& options);

// Writes train.FROM, train.TO, dev.…, test.… (a pair a line; empty files for empty parts) and report.json into `folder`, which is made if
// it is not there. Each file is written whole or not at all.
void write_corpus(const Corpus& corpus, const std::filesystem::path& folder);

}  // namespace jumok
