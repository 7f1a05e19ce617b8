// The marks of access keys in menus and buttons: "_File" (GTK), "&File" (Qt, KDE, wxWidgets), "~File" (LibreOffice), "파일(_F)" (languages
// whose own letters are no keys). They are no part of the words.
#pragma once

#include <string>
#include <string_view>

namespace jumok {

// One text alone. Taken out: a single mark before a letter or digit at the start of a word; "&" and "~" inside a word before a small letter
// ("E&xit"); a bracketed key "(_F)". "&&" is Qt's way to write one "&". Kept: "R&D", "snake_case", "__init__", "~/.config", "A & B",
// "&amp;".
std::string without_access_key(std::string_view text);

// Both sides of a pair. Knowing both, a mark inside a word is also taken out where the other side has one too ("E_xit" / "끝내기(_X)") or
// does not repeat the word ("HT_ML source" / "HTML 원본"; "snake_case" would be there again), and so is a bracketed letter without mark at
// the end of the target ("파일(F)") where the source has that access key.
void remove_access_keys(std::string& source, std::string& target);

}  // namespace jumok
