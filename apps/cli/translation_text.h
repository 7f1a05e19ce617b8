// How translations are printed: plain lines, n-best lines, word alignments.
#pragma once

#include <cstdint>
#include <string>

#include "jumok/translator.h"

namespace jumok {

// "0-0 1-2": source-target word numbers from 0, sorted ("Pharaoh").
std::string pharaoh_links(const Translation& translation);

// One object on one line: source (words), target (words), weights (a row of source weights for each target word), links, layer, and
// cut: whether the length limit was reached before the end.
std::string json_alignment(const Translation& translation);

struct TranslationFormat {
  bool nbest = false;                                  // "id ||| text ||| score" instead of the text alone
  std::string (*links)(const Translation&) = nullptr;  // appended as " ||| …"; null: nothing
};

// One output line, with its LF. `id` is the number of the input line, from 0.
std::string output_line(const Translation& translation, int64_t id, const TranslationFormat& format);

}  // namespace jumok
