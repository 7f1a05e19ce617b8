// Sentence pairs from lines of tab-separated fields, and from two files that belong together line by line.
#pragma once

#include <filesystem>
#include <vector>

#include "corpus/pair.h"

namespace jumok {

// The fields to read, from 1. Where both are 0 the file must have exactly two fields a line: source, target.
struct TsvColumns {
  size_t source = 0, target = 0;
};

// Quote characters are plain text. A line with a wrong number of fields is given on as malformed, with its number; it moves no other line.
// LF and CRLF end lines and nothing else does; a byte order mark at the start is skipped; names ending in .gz are decompressed.
void read_tsv(const std::filesystem::path& file, TsvColumns columns, const PairSink& sink);

// Throws Error with both counts when the files differ in their number of lines.
void read_plain_pair(const std::filesystem::path& source, const std::filesystem::path& target, const PairSink& sink);

}  // namespace jumok
