// A gettext catalogue, as read from a .mo or a .po file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jumok {

struct CatalogueMessage {
  std::optional<std::string> context;  // msgctxt
  std::string id, id_plural;           // msgid; msgid_plural, empty where the message has no plural
  std::vector<std::string> texts;      // msgstr, or msgstr[0], msgstr[1], ...
  bool fuzzy = false;                  // a guess nobody has confirmed: counts as untranslated
  size_t line = 0;                     // of the msgid in a .po file, from 1; the number of the message in a .mo file, from 1
};

struct Catalogue {
  std::string header;                      // msgstr of the empty msgid; never text
  std::vector<CatalogueMessage> messages;  // without the header; all strings UTF-8
};

// The value of a header field ("Language", "Plural-Forms", ...), names compared without regard to case; empty where there is none.
std::string header_field(std::string_view header, std::string_view name);

// The charset of Content-Type; UTF-8 where the header names none, or the placeholder "CHARSET" of templates.
std::string header_charset(std::string_view header);

// Converts every string (and the header) from the header's charset. Throws Error starting with `name` for a charset this system does not
// know. Bytes that are invalid in the charset become U+FFFD, so that the cleaner can find and count them.
void convert_to_utf8(Catalogue& catalogue, const std::string& name);

}  // namespace jumok
