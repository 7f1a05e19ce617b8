// The two forms word alignments are published in: "Pharaoh" (one line a sentence) and NAACL 2003 (one line a link; Mihalcea and Pedersen
// 2003, "An Evaluation Exercise for Word Alignment").
#include <jumok/metrics.h>

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace jumok {
namespace {

// Where a link stands, for messages.
struct Place {
  const std::string& file;
  size_t line;  // from 1

  template <typename... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}:{}: {}", file, line, fmt::format(format, std::forward<Args>(args)...));
  }
};

std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> fields;
  for (size_t begin = line.find_first_not_of(kBlank); begin != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlank, end);
  }
  return fields;
}

// A whole field of decimal digits that fits an int; no sign.
std::optional<int> parse_count(std::string_view text) {
  int value = 0;
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
}

void check_lengths(const AlignmentLengths& lengths, const std::string& name, size_t sentences) {
  for (const auto* side : {&lengths.source, &lengths.target}) {
    check(side->empty() || side->size() == sentences, "{}: expected {} lines, as many as the text has, found {}", name, side->size(),
          sentences);
  }
}

// `first` is what the file counts from.
void check_range(const AlignmentLink& link, const AlignmentLengths& lengths, size_t sentence, int first, const Place& place) {
  const auto check_side = [&](int position, const std::vector<int>& side, const char* name) {
    if (side.empty() || position < side[sentence]) return;
    const auto found = static_cast<int64_t>(position) + first;
    if (side[sentence] == 0) place.fail_here("expected no links (the {} sentence has no words), found {}", name, found);
    place.fail_here("expected a {} word from {} to {} (the sentence has {}), found {}", name, first, side[sentence] - 1 + first,
                    side[sentence], found);
  };
  check_side(link.source, lengths.source, "source");
  check_side(link.target, lengths.target, "target");
}

struct PharaohLink {
  AlignmentLink link;
  bool sure = true;
};

std::optional<PharaohLink> parse_pharaoh_link(std::string_view field) {
  const size_t split = field.find_first_not_of("0123456789");
  if (split == std::string_view::npos) return std::nullopt;
  const char mark = field[split];
  const auto source = parse_count(field.substr(0, split)), target = parse_count(field.substr(split + 1));
  if (!source || !target || (mark != '-' && mark != '?' && mark != 'p')) return std::nullopt;
  return PharaohLink{{*source, *target}, mark == '-'};
}

void parse_pharaoh_line(std::string_view line, const AlignmentLengths& lengths, bool allow_possible, const Place& place,
                        GoldAlignment& out) {
  for (const auto field : fields_of(line)) {
    const auto found = parse_pharaoh_link(field);
    if (!found || !(found->sure || allow_possible)) {
      place.fail_here("expected links like 0-1{}, words counted from 0, found '{}'", allow_possible ? ", or 0?1 for a possible one" : "",
                      field);
    }
    check_range(found->link, lengths, place.line - 1, 0, place);
    (found->sure ? out.sure : out.possible).push_back(found->link);
  }
}

std::vector<GoldAlignment> parse_pharaoh(const std::vector<std::string>& lines, const std::string& name, const AlignmentLengths& lengths,
                                         bool allow_possible) {
  check_lengths(lengths, name, lines.size());
  std::vector<GoldAlignment> out(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) parse_pharaoh_line(lines[i], lengths, allow_possible, {name, i + 1}, out[i]);
  return out;
}

// sentence source target [S|P] [confidence]
void parse_naacl_line(std::string_view line, const AlignmentLengths& lengths, const Place& place, std::vector<GoldAlignment>& out) {
  auto fields = fields_of(line);
  if (fields.empty()) return;
  std::optional<int> numbers[3];
  for (size_t i = 0; i < 3 && i < fields.size(); ++i) numbers[i] = parse_count(fields[i]);
  bool sure = true;
  const bool marked = fields.size() > 3 && (fields[3] == "S" || fields[3] == "P");
  if (marked) sure = fields[3] == "S";
  const size_t used = marked ? 4 : 3;
  const bool rest_is_fine = fields.size() <= used || (fields.size() == used + 1 && is_number(fields[used]));
  if (!numbers[0] || !numbers[1] || !numbers[2] || !rest_is_fine) {
    place.fail_here("expected 'sentence source target [S|P] [confidence]', found '{}'", line);
  }
  if (*numbers[0] < 1 || static_cast<size_t>(*numbers[0]) > out.size()) {
    place.fail_here("expected a sentence from 1 to {}, found {}", out.size(), *numbers[0]);
  }
  if (*numbers[1] < 1 || *numbers[2] < 1) place.fail_here("expected words counted from 1, found {} {}", *numbers[1], *numbers[2]);
  const size_t sentence = static_cast<size_t>(*numbers[0]) - 1;
  const AlignmentLink link{*numbers[1] - 1, *numbers[2] - 1};
  check_range(link, lengths, sentence, 1, place);
  (sure ? out[sentence].sure : out[sentence].possible).push_back(link);
}

// The first line with content tells: its first field is a bare number in a NAACL file and a link in a Pharaoh file.
bool looks_like_naacl(const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    const auto fields = fields_of(line);
    if (!fields.empty()) return fields.front().find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

}  // namespace

std::vector<std::vector<AlignmentLink>> parse_alignments(const std::vector<std::string>& lines, const std::string& name,
                                                         const AlignmentLengths& lengths) {
  std::vector<std::vector<AlignmentLink>> out;
  for (auto& sentence : parse_pharaoh(lines, name, lengths, /*allow_possible=*/false)) out.push_back(std::move(sentence.sure));
  return out;
}

std::vector<GoldAlignment> parse_gold_alignments(const std::vector<std::string>& lines, const std::string& name, size_t sentences,
                                                 const AlignmentLengths& lengths, GoldFormat format) {
  check(sentences > 0, "{}: expected the links of one sentence or more to judge by it, found none", name);
  if (format == GoldFormat::kRecognised) format = looks_like_naacl(lines) ? GoldFormat::kNaacl : GoldFormat::kPharaoh;
  if (format == GoldFormat::kPharaoh) {
    check(lines.size() == sentences, "{}: expected {} lines, one for each sentence, found {}", name, sentences, lines.size());
    return parse_pharaoh(lines, name, lengths, /*allow_possible=*/true);
  }
  check_lengths(lengths, name, sentences);
  std::vector<GoldAlignment> out(sentences);
  for (size_t i = 0; i < lines.size(); ++i) parse_naacl_line(lines[i], lengths, {name, i + 1}, out);
  return out;
}

}  // namespace jumok
