#include "corpus/catalogue_pairs.h"

#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "corpus/catalogue.h"
#include "corpus/language.h"
#include "corpus/mo_catalogue.h"
#include "corpus/po_catalogue.h"
#include "corpus/walk.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

// The file name without .gz and the catalogue's own ending; that ending apart ("" for other files).
struct CatalogueName {
  std::string stem, ending;
};

CatalogueName catalogue_name(const fs::path& path) {
  fs::path name = path.filename();
  if (name.extension() == ".gz") name = name.stem();
  const std::string ending = name.extension().string();
  if (ending != ".mo" && ending != ".po") return {};
  return {name.stem().string(), ending};
}

bool is_english(const std::string& language) { return language == "en" || language.starts_with("en_") || language.starts_with("en-"); }

// The language that the place of a file tells for sure; empty where it tells none.
std::string language_of_place(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.filename() == "LC_MESSAGES" ? parent.parent_path().filename().string() : std::string();
}

Catalogue read_catalogue(const fs::path& path) {
  const std::string bytes = read_file(path);
  check(!bytes.empty(), "{}: expected a catalogue, found an empty file", path.string());
  return catalogue_name(path).ending == ".mo" ? read_mo(bytes, path.string()) : read_po(bytes, path.string());
}

// The file's catalogue if it is of `language`.
std::optional<Catalogue> read_if_of(const fs::path& path, const std::string& language) {
  const std::string place = language_of_place(path);
  if (!place.empty() && !same_language(place, language)) return std::nullopt;
  Catalogue catalogue = read_catalogue(path);
  if (!place.empty()) return catalogue;
  const std::string told = header_field(catalogue.header, "Language");
  if (!same_language(told.empty() ? catalogue_name(path).stem : told, language)) return std::nullopt;
  return catalogue;
}

struct Form {
  std::string id, text;
};

// The (English, translated) texts of a message: one, or two of a plural message.
std::vector<Form> forms(const CatalogueMessage& message) {
  if (message.id_plural.empty()) return {{message.id, message.texts.front()}};
  if (message.texts.size() == 1) return {{message.id_plural, message.texts.front()}};
  return {{message.id, message.texts.front()}, {message.id_plural, message.texts.back()}};
}

std::string place(const fs::path& path, size_t line) { return path.string() + ":" + std::to_string(line); }

void emit_messages(const fs::path& path, const Catalogue& catalogue, bool english_first, const PairSink& sink) {
  for (const CatalogueMessage& message : catalogue.messages) {
    for (Form& form : forms(message)) {
      if (!english_first) std::swap(form.id, form.text);
      sink({.source = std::move(form.id),
            .target = std::move(form.text),
            .place = place(path, message.line),
            .access_keys = true,
            .drop = message.fuzzy ? Drop::kFuzzy : Drop::kKept});
    }
  }
}

// The place of the same catalogue in another language: /ko/LC_MESSAGES/x.mo → /de/LC_MESSAGES/x.mo, po/ko.po → po/de.po, ko/x.po → de/x.po.
fs::path path_in(const fs::path& path, const std::string& from, const std::string& to) {
  const std::string name = path.filename().string();
  if (same_language(catalogue_name(path).stem, from)) return path.parent_path() / (to + name.substr(catalogue_name(path).stem.size()));
  fs::path result;
  for (const fs::path& part : path) result /= same_language(part.string(), from) ? fs::path(to) : part;
  return result;
}

using MessageKey = std::pair<std::string, std::string>;  // context with a mark before it ("" is no context), id

MessageKey key_of(const CatalogueMessage& message) { return {message.context ? "\x04" + *message.context : "", message.id}; }

void emit_joined(const fs::path& path, const Catalogue& from, const Catalogue& to, const PairSink& sink) {
  std::map<MessageKey, const CatalogueMessage*> translations;
  for (const CatalogueMessage& message : to.messages) translations.emplace(key_of(message), &message);
  for (const CatalogueMessage& message : from.messages) {
    const auto found = translations.find(key_of(message));
    if (found == translations.end()) continue;
    const CatalogueMessage& other = *found->second;
    sink({.source = message.texts.back(),
          .target = other.texts.back(),
          .place = place(path, message.line),
          .access_keys = true,
          .drop = message.fuzzy || other.fuzzy ? Drop::kFuzzy : Drop::kKept});
  }
}

}  // namespace

void read_catalogues(const fs::path& folder, const std::string& from, const std::string& to, const PairSink& sink) {
  const auto files = files_below(folder, [](const fs::path& path) { return !catalogue_name(path).ending.empty(); });
  check(!files.empty(), "{}: expected .mo or .po catalogues below this folder, found none", folder.string());
  const bool joined = !is_english(from) && !is_english(to);
  const std::string& wanted = is_english(from) ? to : from;
  size_t used = 0;
  for (const fs::path& path : files) {
    const auto catalogue = read_if_of(path, wanted);
    if (!catalogue) continue;
    const fs::path partner = joined ? path_in(path, wanted, to) : path;
    if (joined && !fs::is_regular_file(partner)) continue;
    ++used;
    if (joined) {
      emit_joined(path, *catalogue, read_catalogue(partner), sink);
    } else {
      emit_messages(path, *catalogue, is_english(from), sink);
    }
  }
  check(used > 0, "{}: expected catalogues for '{}'{}, found none among {} of other languages", folder.string(), wanted,
        joined ? " with partners for '" + to + "'" : "", files.size());
}

}  // namespace jumok
