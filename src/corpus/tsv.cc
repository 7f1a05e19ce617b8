#include "corpus/tsv.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/lines.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0;;) {
    const size_t tab = line.find('\t', begin);
    fields.push_back(line.substr(begin, tab == std::string_view::npos ? tab : tab - begin));
    if (tab == std::string_view::npos) return fields;
    begin = tab + 1;
  }
}

std::string place(const fs::path& file, size_t line) { return file.string() + ":" + std::to_string(line); }

}  // namespace

void read_tsv(const fs::path& file, TsvColumns columns, const PairSink& sink) {
  const bool two = columns.source == 0 && columns.target == 0;
  if (two) columns = {1, 2};
  check(columns.source > 0 && columns.target > 0, "expected columns counted from 1, found {} and {}", columns.source, columns.target);
  size_t number = 0;
  for (const std::string& line : read_lines(file)) {
    const auto fields = split_fields(line);
    TextPair pair{.source = {}, .target = {}, .place = place(file, ++number)};
    if (two ? fields.size() == 2 : fields.size() >= std::max(columns.source, columns.target)) {
      pair.source = fields[columns.source - 1];
      pair.target = fields[columns.target - 1];
    } else {
      pair.source = line;
      pair.drop = Drop::kMalformed;
    }
    sink(std::move(pair));
  }
  check(number > 0, "{}: expected lines of SOURCE TAB TARGET, found an empty file", file.string());
}

void read_plain_pair(const fs::path& source, const fs::path& target, const PairSink& sink) {
  ParallelLines lines = read_parallel(source, target);
  for (size_t i = 0; i < lines.source.size(); ++i) {
    sink({.source = std::move(lines.source[i]), .target = std::move(lines.target[i]), .place = place(source, i + 1)});
  }
}

}  // namespace jumok
