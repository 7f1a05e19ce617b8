// Sentence pairs from the help pages of LibreOffice: the same page in two languages, joined paragraph by paragraph.
#pragma once

#include <filesystem>
#include <string>

#include "corpus/pair.h"

namespace jumok {

// `folder` holds one folder per language (…/libreoffice/help/en-US, …/ko) or has them below usr/share/libreoffice/help. A language's folder
// is the one named as its code, or with a territory (en-US for en, where several: the one named first in the alphabet that is en-US, else
// Error). Paragraphs are joined by (file name relative to the language's folder, paragraph id); of several with one id the first counts.
// Pages come in the order of their names. Throws Error where a folder is missing or nothing can be joined.
void read_help_pages(const std::filesystem::path& folder, const std::string& from, const std::string& to, const PairSink& sink);

}  // namespace jumok
