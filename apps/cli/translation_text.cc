#include "translation_text.h"

#include <fmt/format.h>

#include "json_text.h"

namespace jumok {
namespace {

std::string json_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + json_string(w);
  return "[" + out + "]";
}

std::string json_rows(const Alignment& a) {
  const size_t columns = a.source_words.size();
  std::string out;
  for (size_t t = 0; t < a.target_words.size(); ++t) {
    const float* row = a.weights.data() + t * columns;
    out += fmt::format("{}[{:.6g}]", t > 0 ? ", " : "", fmt::join(row, row + columns, ", "));
  }
  return "[" + out + "]";
}

}  // namespace

std::string pharaoh_links(const Translation& t) {
  std::string out;
  for (const auto& [source, target] : t.alignment.links) out += fmt::format("{}{}-{}", out.empty() ? "" : " ", source, target);
  return out;
}

std::string json_alignment(const Translation& t) {
  const Alignment& a = t.alignment;
  std::string links;
  for (const auto& [source, target] : a.links) links += fmt::format("{}[{}, {}]", links.empty() ? "" : ", ", source, target);
  return fmt::format("{{\"source\": {}, \"target\": {}, \"weights\": {}, \"links\": [{}], \"layer\": {}, \"cut\": {}}}",
                     json_words(a.source_words), json_words(a.target_words), json_rows(a), links, json_string(a.layer), t.cut);
}

std::string output_line(const Translation& t, int64_t id, const TranslationFormat& format) {
  std::string line = format.nbest ? fmt::format("{} ||| {} ||| {:.6f}", id, t.text, t.score) : t.text;
  if (format.links != nullptr) line += " ||| " + format.links(t);
  return line + "\n";
}

}  // namespace jumok
