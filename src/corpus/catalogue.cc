#include "corpus/catalogue.h"

#include <iconv.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/error.h"

namespace jumok {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// iconv gives special meaning to '/' and reads modules by name, so only plain names reach it.
bool plain_name(const std::string& charset) {
  return !charset.empty() && charset.size() <= 40 && std::all_of(charset.begin(), charset.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == ':';
  });
}

class Converter {
 public:
  explicit Converter(const std::string& charset) : handle_(plain_name(charset) ? iconv_open("UTF-8", charset.c_str()) : iconv_t(-1)) {}
  ~Converter() {
    if (known()) iconv_close(handle_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  bool known() const { return handle_ != iconv_t(-1); }

  std::string operator()(const std::string& text) {
    iconv(handle_, nullptr, nullptr, nullptr, nullptr);
    std::string result;
    char* in = const_cast<char*>(text.data());  // iconv's interface is older than const
    size_t left = text.size();
    while (left > 0) {
      char buffer[512];
      char* out = buffer;
      size_t room = sizeof buffer;
      const size_t code = iconv(handle_, &in, &left, &out, &room);
      result.append(buffer, static_cast<size_t>(out - buffer));
      if (code == size_t(-1) && errno != E2BIG) {
        result += "\xEF\xBF\xBD";
        ++in;
        --left;
      }
    }
    return result;
  }

 private:
  iconv_t handle_;
};

}  // namespace

std::string header_field(std::string_view header, std::string_view name) {
  const std::string wanted = lower(name);
  while (!header.empty()) {
    const size_t end = std::min(header.find('\n'), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && lower(trim(line.substr(0, colon))) == wanted) return std::string(trim(line.substr(colon + 1)));
  }
  return {};
}

std::string header_charset(std::string_view header) {
  const std::string type = header_field(header, "Content-Type");
  const size_t at = lower(type).find("charset=");
  if (at == std::string::npos) return "UTF-8";
  std::string charset(trim(std::string_view(type).substr(at + 8)));
  charset = charset.substr(0, charset.find_first_of("; \""));
  return charset.empty() || charset == "CHARSET" ? "UTF-8" : charset;
}

void convert_to_utf8(Catalogue& catalogue, const std::string& name) {
  const std::string charset = header_charset(catalogue.header);
  const std::string small = lower(charset);
  if (small == "utf-8" || small == "utf8") return;
  Converter convert(charset);
  check(convert.known(), "{}: expected a known charset in the header, found '{}'", name, charset);
  catalogue.header = convert(catalogue.header);
  for (CatalogueMessage& message : catalogue.messages) {
    if (message.context) message.context = convert(*message.context);
    message.id = convert(message.id);
    message.id_plural = convert(message.id_plural);
    for (std::string& text : message.texts) text = convert(text);
  }
}

}  // namespace jumok
