#include "corpus/po_catalogue.h"

#include <algorithm>

#include "base/error.h"

namespace jumok {
namespace {

constexpr size_t kMaxForms = 64;  // no language has more than 6 plural forms

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

int digit_of(char c, int base) {
  int value = -1;
  if (c >= '0' && c <= '9') value = c - '0';
  if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
  if (c >= 'A' && c <= 'F') value = c - 'A' + 10;
  return value < base ? value : -1;
}

class Parser {
 public:
  Parser(std::string_view bytes, const std::string& name) : rest_(bytes), name_(name) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }

  Catalogue run() {
    while (!rest_.empty()) {
      ++line_;
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      text_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      skip_blanks();
      if (!text_.empty()) parse_line();
    }
    finish_entry();
    return std::move(catalogue_);
  }

 private:
  enum class Part { kNone, kContext, kId, kPlural, kText };

  [[noreturn]] void syntax_error(std::string_view expected) const {
    fail("{}:{}: expected {}, found '{}'", name_, line_, expected, text_.substr(0, 40));
  }

  void skip_blanks() {
    while (!text_.empty() && is_blank(text_.front())) text_.remove_prefix(1);
  }

  void parse_line() {
    if (text_.front() == '#') return parse_comment();
    if (text_.front() == '"') {
      if (part_ == Part::kNone) syntax_error("msgid or msgctxt before a string");
      return parse_strings();
    }
    parse_keyword();
    skip_blanks();
    if (text_.empty() || text_.front() != '"') syntax_error("a string in double quotes");
    parse_strings();
  }

  // "#~" hides a whole entry, "#|" the text an entry had before; both may hold strings that must not be read. "#," holds the flags.
  void parse_comment() {
    if (part_ == Part::kText) finish_entry();
    if (!text_.starts_with("#,")) return;
    text_.remove_prefix(2);
    while (!text_.empty()) {
      const size_t end = std::min(text_.find(','), text_.size());
      std::string_view flag = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      while (!flag.empty() && is_blank(flag.front())) flag.remove_prefix(1);
      while (!flag.empty() && is_blank(flag.back())) flag.remove_suffix(1);
      if (flag == "fuzzy") message_.fuzzy = true;
    }
  }

  bool take(std::string_view keyword) {
    if (!text_.starts_with(keyword)) return false;
    const char next = text_.size() > keyword.size() ? text_[keyword.size()] : '\0';
    if (next != '"' && next != '[' && !is_blank(next)) return false;
    text_.remove_prefix(keyword.size());
    return true;
  }

  void parse_keyword() {
    if (take("msgctxt")) {
      if (part_ == Part::kText) finish_entry();
      if (part_ != Part::kNone) syntax_error("msgid after msgctxt");
      part_ = Part::kContext;
      message_.context.emplace();
    } else if (take("msgid")) {
      if (part_ == Part::kText) finish_entry();
      if (part_ != Part::kNone && part_ != Part::kContext) syntax_error("msgstr after msgid");
      part_ = Part::kId;
      message_.line = line_;
    } else if (take("msgid_plural")) {
      if (part_ != Part::kId) syntax_error("msgid before msgid_plural");
      part_ = Part::kPlural;
      plural_ = true;
    } else if (take("msgstr")) {
      if (part_ != Part::kId && part_ != Part::kPlural && part_ != Part::kText) syntax_error("msgid before msgstr");
      start_text();
    } else {
      syntax_error("msgctxt, msgid, msgid_plural, msgstr, a string or a comment");
    }
  }

  void start_text() {
    size_t form = 0;
    if (!text_.empty() && text_.front() == '[') {
      const size_t close = text_.find(']');
      if (close == std::string_view::npos || close < 2 || close > 3) syntax_error("a plural form such as msgstr[0]");
      for (size_t i = 1; i < close; ++i) {
        if (digit_of(text_[i], 10) < 0) syntax_error("a plural form such as msgstr[0]");
        form = form * 10 + static_cast<size_t>(digit_of(text_[i], 10));
      }
      text_.remove_prefix(close + 1);
    } else if (plural_) {
      syntax_error("msgstr[0] after msgid_plural");
    }
    if (form != message_.texts.size() || form >= kMaxForms) syntax_error("plural forms in order, each once");
    message_.texts.emplace_back();
    part_ = Part::kText;
  }

  std::string& current() {
    switch (part_) {
      case Part::kContext:
        return *message_.context;
      case Part::kPlural:
        return message_.id_plural;
      case Part::kText:
        return message_.texts.back();
      default:
        return message_.id;
    }
  }

  void parse_strings() {
    std::string& target = current();
    while (!text_.empty()) {
      if (text_.front() != '"') syntax_error("the end of the line after a string");
      text_.remove_prefix(1);
      while (!text_.empty() && text_.front() != '"') parse_character(target);
      if (text_.empty()) syntax_error("a closing double quote before the line ends");
      text_.remove_prefix(1);
      skip_blanks();
    }
  }

  void parse_character(std::string& target) {
    char c = text_.front();
    text_.remove_prefix(1);
    if (c != '\\') {
      target.push_back(c);
      return;
    }
    if (text_.empty()) syntax_error("a character after the backslash");
    c = text_.front();
    constexpr std::string_view kNames = "ntrabfv\"\\'?", kValues = "\n\t\r\a\b\f\v\"\\'?";
    const size_t at = kNames.find(c);
    if (at != std::string_view::npos) {
      target.push_back(kValues[at]);
      text_.remove_prefix(1);
    } else if (c == 'x') {
      text_.remove_prefix(1);
      parse_number(target, 16, 2);
    } else if (digit_of(c, 8) >= 0) {
      parse_number(target, 8, 3);
    } else {
      syntax_error("an escape such as \\n, \\t, \\\" or \\\\");
    }
  }

  void parse_number(std::string& target, int base, int digits) {
    int value = 0, used = 0;
    for (; used < digits && !text_.empty() && digit_of(text_.front(), base) >= 0; ++used) {
      value = value * base + digit_of(text_.front(), base);
      text_.remove_prefix(1);
    }
    if (used == 0) syntax_error("digits after \\x");
    target.push_back(static_cast<char>(value & 0xFF));
  }

  void finish_entry() {
    if (part_ != Part::kNone && part_ != Part::kText)
      fail("{}:{}: expected a msgstr for the msgid of line {}", name_, line_, message_.line);
    if (part_ == Part::kText) {
      if (message_.id.empty() && !message_.context) {
        catalogue_.header = message_.texts.front();
      } else {
        catalogue_.messages.push_back(std::move(message_));
      }
    }
    message_ = {};
    part_ = Part::kNone;
    plural_ = false;
  }

  std::string_view rest_, text_;
  const std::string& name_;
  size_t line_ = 0;
  Part part_ = Part::kNone;
  bool plural_ = false;
  CatalogueMessage message_;
  Catalogue catalogue_;
};

}  // namespace

Catalogue read_po(std::string_view bytes, const std::string& name) {
  Catalogue catalogue = Parser(bytes, name).run();
  convert_to_utf8(catalogue, name);
  return catalogue;
}

}  // namespace jumok
