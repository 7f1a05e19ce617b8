#include "corpus/language.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace jumok {
namespace {

struct Entry {
  const char* code;
  std::vector<Script> scripts;
  double density;
  bool spaced;
};

// Densities: median of target over source characters in the Debian catalogues and help pages, rounded to 0.05.
const std::vector<Entry>& table() {
  using enum Script;
  static const std::vector<Entry> entries = {
      {"en", {kLatin}, 1.0, true},
      {"de", {kLatin}, 1.15, true},
      {"fr", {kLatin}, 1.2, true},
      {"es", {kLatin}, 1.15, true},
      {"it", {kLatin}, 1.15, true},
      {"pt", {kLatin}, 1.15, true},
      {"nl", {kLatin}, 1.1, true},
      {"sv", {kLatin}, 1.0, true},
      {"da", {kLatin}, 1.0, true},
      {"nb", {kLatin}, 1.0, true},
      {"nn", {kLatin}, 1.0, true},
      {"fi", {kLatin}, 1.05, true},
      {"pl", {kLatin}, 1.1, true},
      {"cs", {kLatin}, 1.0, true},
      {"sk", {kLatin}, 1.0, true},
      {"hu", {kLatin}, 1.1, true},
      {"ro", {kLatin}, 1.1, true},
      {"tr", {kLatin}, 1.0, true},
      {"ca", {kLatin}, 1.15, true},
      {"gl", {kLatin}, 1.15, true},
      {"hr", {kLatin}, 1.0, true},
      {"sl", {kLatin}, 1.0, true},
      {"lt", {kLatin}, 1.0, true},
      {"lv", {kLatin}, 1.0, true},
      {"et", {kLatin}, 1.0, true},
      {"vi", {kLatin}, 1.05, true},
      {"id", {kLatin}, 1.05, true},
      {"ms", {kLatin}, 1.05, true},
      {"eu", {kLatin}, 1.05, true},
      {"eo", {kLatin}, 1.0, true},
      {"ru", {kCyrillic}, 1.1, true},
      {"uk", {kCyrillic}, 1.05, true},
      {"bg", {kCyrillic}, 1.1, true},
      {"be", {kCyrillic}, 1.1, true},
      {"mk", {kCyrillic}, 1.1, true},
      {"el", {kGreek}, 1.15, true},
      {"ar", {kArabic}, 0.85, true},
      {"fa", {kArabic}, 0.85, true},
      {"he", {kHebrew}, 0.75, true},
      {"hi", {kOther}, 1.0, true},
      {"th", {kOther}, 0.9, false},
      {"ko", {kHangul}, 0.5, true},
      {"ja", {kHiragana, kKatakana, kHan}, 0.45, false},
      {"zh", {kHan}, 0.3, false},
  };
  return entries;
}

std::string canonical(std::string code) {
  for (char& c : code) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return code;
}

bool well_formed(const std::string& code) {
  const size_t base = std::min(code.find_first_of("_-@"), code.size());
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (base < 2 || base > 3 || !std::all_of(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(base), lower)) return false;
  const auto allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '@'; };
  return code.size() <= 32 && code.back() != '_' && code.back() != '-' && code.back() != '@' &&
         std::all_of(code.begin(), code.end(), allowed);
}

}  // namespace

Language find_language(const std::string& code) {
  check(well_formed(code), "unknown language '{}': expected a code such as en, ko or pt_BR", code);
  Language language{.code = code, .scripts = {}};
  const std::string base = code.substr(0, code.find_first_of("_-@"));
  if (code.find('@') != std::string::npos) return language;  // a variant may change the script (sr@latin)
  for (const Entry& entry : table()) {
    if (base == entry.code) {
      language.scripts = entry.scripts;
      language.density = entry.density;
      language.spaced = entry.spaced;
    }
  }
  return language;
}

bool same_language(const std::string& a, const std::string& b) { return canonical(a) == canonical(b); }

}  // namespace jumok
