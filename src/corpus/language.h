// What the filters know about languages: their scripts, and how long their text is beside English.
#pragma once

#include <string>
#include <vector>

#include "text/unicode.h"

namespace jumok {

struct Language {
  std::string code;             // as given: "ko", "pt_BR"
  std::vector<Script> scripts;  // a text of this language is mostly written in these; empty: any letters will do
  double density = 1.0;         // characters of text for one character of the same text in English
  bool spaced = true;           // words are separated by spaces
};

// The language of a code: two or three letters, then perhaps _TERRITORY or @variant (as gettext writes them; '-' counts as '_').
// Throws Error for anything else. A code that is well formed but not in the table gets the neutral defaults above.
Language find_language(const std::string& code);

// "pt-BR" and "pt_br" name the same language.
bool same_language(const std::string& a, const std::string& b);

}  // namespace jumok
