// Sentence pairs from the gettext catalogues below a folder.
#pragma once

#include <filesystem>
#include <string>

#include "corpus/pair.h"

namespace jumok {

// Reads every .mo and .po file (also .gz) below `folder` that is of the wanted language: by its place (LANG/LC_MESSAGES/x.mo), else by its
// header's Language, else by its name (ko.po). Messages are taken to be English: from en the pairs are (msgid, msgstr), to en the other way
// round; otherwise the catalogues of both languages whose paths differ in the language alone are joined on (context, msgid). Of a plural
// message the first form goes with the singular and the last with the plural; a language with one form has it with the plural. Fuzzy and
// untranslated messages are given on as such, to be counted. Throws Error where the folder is not readable, a catalogue is damaged, or none
// is of the wanted language.
void read_catalogues(const std::filesystem::path& folder, const std::string& from, const std::string& to, const PairSink& sink);

}  // namespace jumok
