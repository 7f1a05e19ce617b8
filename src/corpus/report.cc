#include "corpus/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace jumok {
namespace {

using Json = nlohmann::ordered_json;

// One line, cut at a character's border.
std::string shorten(const std::string& text) {
  constexpr size_t kBytes = 120;
  std::string line = text.substr(0, kBytes);
  while (line.size() < text.size() && !line.empty() && (static_cast<unsigned char>(text[line.size()]) & 0xC0) == 0x80) line.pop_back();
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return line.size() < text.size() ? line + "…" : line;
}

// Reasons that occurred, most frequent first.
std::vector<size_t> reasons(const SourceReport& source) {
  std::vector<size_t> result;
  for (size_t i = 1; i < kDropCount; ++i) {
    if (source.dropped[i] > 0) result.push_back(i);
  }
  std::stable_sort(result.begin(), result.end(), [&](size_t a, size_t b) { return source.dropped[a] > source.dropped[b]; });
  return result;
}

std::string json_name(size_t reason) {
  std::string name = drop_name(static_cast<Drop>(reason));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

Json source_json(const SourceReport& source) {
  Json dropped = Json::object();
  for (const size_t reason : reasons(source))
    dropped[json_name(reason)] = {{"pairs", source.dropped[reason]}, {"example", source.example[reason]}};
  return {{"kind", source.kind}, {"path", source.path}, {"read", source.read}, {"kept", source.kept}, {"dropped", dropped}};
}

}  // namespace

const char* drop_name(Drop reason) {
  switch (reason) {
    case Drop::kKept:
      return "kept";
    case Drop::kMalformed:
      return "wrong number of fields";
    case Drop::kFuzzy:
      return "fuzzy";
    case Drop::kEmpty:
      return "empty side";
    case Drop::kMisencoded:
      return "damaged encoding";
    case Drop::kPlaceholder:
      return "placeholder";
    case Drop::kPlaceholderMismatch:
      return "placeholders differ";
    case Drop::kNoWords:
      return "no words";
    case Drop::kFewLetters:
      return "few letters";
    case Drop::kWrongSourceScript:
      return "source in another script";
    case Drop::kWrongTargetScript:
      return "target in another script";
    case Drop::kUntranslated:
      return "not translated";
    case Drop::kTooShort:
      return "too short";
    case Drop::kTooLong:
      return "too long";
    case Drop::kLengthRatio:
      return "length ratio";
    case Drop::kNumbers:
      return "numbers differ";
    case Drop::kDuplicate:
      return "duplicate";
    case Drop::kCount:
      break;
  }
  return "";
}

void SourceReport::count(Drop reason, const TextPair& pair) {
  ++read;
  const auto i = static_cast<size_t>(reason);
  if (reason == Drop::kKept) {
    ++kept;
  } else if (++dropped[i] == 1) {
    example[i] = pair.place + ": " + shorten(pair.source) + " ||| " + shorten(pair.target);
  }
}

std::string report_json(const CorpusReport& report) {
  Json sources = Json::array();
  for (const SourceReport& source : report.sources) sources.push_back(source_json(source));
  const Json root = {{"from", report.from},
                     {"to", report.to},
                     {"seed", report.seed},
                     {"sources", sources},
                     {"left_out_near_dev_or_test", report.near_dev_or_test},
                     {"train", report.train},
                     {"dev", report.dev},
                     {"test", report.test}};
  // A path may hold any bytes; they must not make writing the report fail.
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_text(const CorpusReport& report) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const SourceReport& source : report.sources) {
    fmt::format_to(out, "{} {}: {} pairs read, {} kept\n", source.kind, source.path, source.read, source.kept);
    for (const size_t reason : reasons(source)) {
      fmt::format_to(out, "  {:>8}  {:<26}{}\n", source.dropped[reason], drop_name(static_cast<Drop>(reason)), source.example[reason]);
    }
  }
  fmt::format_to(out, "left out as too close to dev or test: {}\n", report.near_dev_or_test);
  fmt::format_to(out, "{} → {}: train {}, dev {}, test {} pairs\n", report.from, report.to, report.train, report.dev, report.test);
  return text;
}

}  // namespace jumok
