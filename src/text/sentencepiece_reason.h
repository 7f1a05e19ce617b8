// What SentencePiece says of a failure, without where in its source it noticed.
#pragma once

#include <sentencepiece_processor.h>

#include <string>
#include <string_view>

namespace jumok {

// "src/trainer_interface.cc(585) [condition] text" becomes "text".
inline std::string reason_of(const sentencepiece::util::Status& status) {
  std::string_view text = status.message();
  const size_t bracket = text.find("] ");
  if (text.substr(0, bracket).find(".cc(") != std::string_view::npos && bracket != std::string_view::npos) text.remove_prefix(bracket + 2);
  return text.empty() ? "SentencePiece gives no reason" : std::string(text);
}

}  // namespace jumok
