#include "corpus/mo_catalogue.h"

#include <cstdint>

#include "base/error.h"

namespace jumok {
namespace {

constexpr uint32_t kMagic = 0x950412de;
constexpr size_t kHeaderBytes = 28;  // magic, revision, count, two table offsets, hash size and offset
constexpr char kEndOfContext = '\x04';

// Words and strings of the file, checked against its size before they are touched.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    check(bytes.size() >= kHeaderBytes, "{}: expected a .mo catalogue of at least {} bytes, found {}", name, kHeaderBytes, bytes.size());
    if (word(0) == kMagic) return;
    big_endian_ = true;
    check(word(0) == kMagic, "{}: expected a .mo catalogue, found other data", name);
  }

  // The caller has checked that 4 bytes are there.
  uint32_t word(size_t offset) const {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) {
      const auto byte = static_cast<uint32_t>(static_cast<unsigned char>(bytes_[offset + i]));
      value |= byte << (8 * (big_endian_ ? 3 - i : i));
    }
    return value;
  }

  void check_table(uint64_t offset, uint64_t count, const char* what) const {
    check(offset + count * 8 <= bytes_.size(), "{}: cut short: {} entries of the table of {} at byte {} do not fit into {} bytes", name_,
          count, what, offset, bytes_.size());
  }

  // Entry `i` of a checked table: length, offset, then the string and a NUL that the length does not count.
  std::string_view string(uint64_t table, uint64_t i, const char* what) const {
    const uint64_t length = word(table + i * 8), offset = word(table + i * 8 + 4);
    check(offset + length < bytes_.size(), "{}: cut short: {} {} of {} bytes at byte {} does not fit into {} bytes", name_, what, i + 1,
          length, offset, bytes_.size());
    check(bytes_[offset + length] == '\0', "{}: damaged: {} {} does not end in a NUL", name_, what, i + 1);
    return bytes_.substr(offset, length);
  }

 private:
  std::string_view bytes_;
  const std::string& name_;
  bool big_endian_ = false;
};

// key: [context EOT] id [NUL id_plural]; text: form [NUL form]...
CatalogueMessage parse_message(std::string_view key, std::string_view text, size_t number) {
  CatalogueMessage message;
  message.line = number;
  const size_t nul = key.find('\0');
  if (nul != std::string_view::npos) {
    message.id_plural = key.substr(nul + 1);
    key = key.substr(0, nul);
  }
  const size_t end = key.find(kEndOfContext);
  if (end != std::string_view::npos) {
    message.context = std::string(key.substr(0, end));
    key.remove_prefix(end + 1);
  }
  message.id = key;
  const bool plural = nul != std::string_view::npos;
  while (plural && text.find('\0') != std::string_view::npos) {
    message.texts.emplace_back(text.substr(0, text.find('\0')));
    text.remove_prefix(text.find('\0') + 1);
  }
  message.texts.emplace_back(text);
  return message;
}

}  // namespace

Catalogue read_mo(std::string_view bytes, const std::string& name) {
  const Reader reader(bytes, name);
  const uint32_t revision = reader.word(4);
  check(revision >> 16 <= 1, "{}: expected a .mo catalogue of version 0 or 1, found version {}", name, revision >> 16);
  const uint64_t count = reader.word(8), ids = reader.word(12), texts = reader.word(16);
  reader.check_table(ids, count, "messages");
  reader.check_table(texts, count, "translations");

  Catalogue catalogue;
  for (uint64_t i = 0; i < count; ++i) {
    const auto key = reader.string(ids, i, "message"), text = reader.string(texts, i, "translation");
    if (key.empty()) {
      catalogue.header = text;
    } else {
      catalogue.messages.push_back(parse_message(key, text, static_cast<size_t>(i) + 1));
    }
  }
  convert_to_utf8(catalogue, name);
  return catalogue;
}

}  // namespace jumok
