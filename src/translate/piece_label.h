// How subword pieces are shown on pages.
#pragma once

#include <string>
#include <string_view>

namespace jumok {

// "▁load", "ing" as "load", "·ing": a turned "▁" reads as a dash, and where a word goes on is what wants a mark. Special symbols ("</s>")
// and a lone "▁" stay.
inline std::string piece_label(const std::string& piece) {
  constexpr std::string_view kMark = "\u2581";
  if (piece.starts_with('<') || piece == kMark) return piece;
  return piece.starts_with(kMark) ? piece.substr(kMark.size()) : "·" + piece;
}

}  // namespace jumok
