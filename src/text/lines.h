// Sentences, one a line: only LF and CRLF end a line; everything else that might is part of it (and becomes a space, see clean_utf8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"

namespace jumok {

// Lines of a stream as they arrive (pipes too), each cleaned by clean_utf8, without its end.
// A byte order mark at the very start is dropped. A last line without LF counts; an empty stream has no lines. NUL and lines of any length
// are fine. Where a line had to be changed, one warning is sent at the end of the stream: how many lines, and the first of them.
class LineReader {
 public:
  // `name` is what messages call the stream (a path, or "standard input"). The stream must be read in binary mode and outlive the reader.
  LineReader(std::istream& stream, std::string name, LogSink sink = {});

  // The next line; false at the end. Throws Error where the stream cannot be read on.
  bool next(std::string& line);
  // Lines given out so far: the number (from 1) of the last one.
  int64_t line_number() const { return number_; }

 private:
  void report();

  std::istream& stream_;
  std::string name_;
  LogSink sink_;
  int64_t number_ = 0, changed_ = 0, first_changed_ = 0;
  bool ended_ = false;
};

// All lines of a file (names ending in .gz are decompressed), as LineReader gives them. Throws Error naming a file that is missing,
// unreadable or cut short.
std::vector<std::string> read_lines(const std::filesystem::path& path, const LogSink& sink = {});

// Two files whose lines belong together, line i to line i.
struct ParallelLines {
  std::vector<std::string> source, target;  // equally many
};
// Throws Error where a file cannot be read or is empty, or where the line counts differ.
ParallelLines read_parallel(const std::filesystem::path& source, const std::filesystem::path& target, const LogSink& sink = {});

// Each text as one line, ended by LF, written whole or not at all (AtomicFile); .gz is compressed. Texts pass clean_utf8, so n texts are n
// lines.
void write_lines(const std::filesystem::path& path, std::span<const std::string> lines);

}  // namespace jumok
