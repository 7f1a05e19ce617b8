#include "text/lines.h"

#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "text/unicode.h"

namespace jumok {

LineReader::LineReader(std::istream& stream, std::string name, LogSink sink)
    : stream_(stream), name_(std::move(name)), sink_(std::move(sink)) {}

bool LineReader::next(std::string& line) {
  if (ended_) return false;
  if (!std::getline(stream_, line, '\n')) {
    check(!stream_.bad(), "{}: cannot be read on after line {}", name_, number_);
    ended_ = true;
    line.clear();
    report();
    return false;
  }
  ++number_;
  // eof() is set where the line ended without LF: a CR there is no CRLF.
  if (!stream_.eof() && line.ends_with('\r')) line.pop_back();
  if (number_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
  bool changed = false;
  line = clean_utf8(line, &changed);
  if (changed && changed_++ == 0) first_changed_ = number_;
  return true;
}

void LineReader::report() {
  if (changed_ == 0 || !sink_) return;
  sink_(LogLevel::kWarning,
        fmt::format("{}: {} of {} lines held bad UTF-8, NUL or stray line breaks and were changed (U+FFFD, spaces), the first is line {}",
                    name_, changed_, number_, first_changed_));
}

std::vector<std::string> read_lines(const std::filesystem::path& path, const LogSink& sink) {
  std::istringstream stream(read_file(path));
  LineReader reader(stream, path.string(), sink);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(std::move(line));
  return lines;
}

ParallelLines read_parallel(const std::filesystem::path& source, const std::filesystem::path& target, const LogSink& sink) {
  ParallelLines lines{read_lines(source, sink), read_lines(target, sink)};
  check(lines.source.size() == lines.target.size(), "{} and {}: expected equally many lines, found {} and {}", source.string(),
        target.string(), lines.source.size(), lines.target.size());
  check(!lines.source.empty(), "{} and {}: expected sentences, found empty files", source.string(), target.string());
  return lines;
}

void write_lines(const std::filesystem::path& path, std::span<const std::string> lines) {
  AtomicFile file(path);
  std::string block;
  constexpr size_t kBlock = 1 << 16;
  for (const auto& line : lines) {
    block += clean_utf8(line);
    block += '\n';
    if (block.size() < kBlock) continue;
    file.write(block);
    block.clear();
  }
  file.write(block);
  file.commit();
}

}  // namespace jumok
