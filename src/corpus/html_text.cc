#include "corpus/html_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "text/unicode.h"

namespace jumok {
namespace {

constexpr size_t kNowhere = std::string_view::npos;

constexpr std::array<std::pair<std::string_view, char32_t>, 32> kEntities = {{
    {"amp", '&'},      {"lt", '<'},        {"gt", '>'},       {"quot", '"'},     {"apos", '\''},    {"nbsp", 0xA0},    {"copy", 0xA9},
    {"reg", 0xAE},     {"deg", 0xB0},      {"plusmn", 0xB1},  {"times", 0xD7},   {"divide", 0xF7},  {"laquo", 0xAB},   {"raquo", 0xBB},
    {"auml", 0xE4},    {"ouml", 0xF6},     {"uuml", 0xFC},    {"Auml", 0xC4},    {"Ouml", 0xD6},    {"Uuml", 0xDC},    {"szlig", 0xDF},
    {"eacute", 0xE9},  {"egrave", 0xE8},   {"ndash", 0x2013}, {"mdash", 0x2014}, {"lsquo", 0x2018}, {"rsquo", 0x2019}, {"ldquo", 0x201C},
    {"rdquo", 0x201D}, {"hellip", 0x2026}, {"rarr", 0x2192},  {"minus", 0x2212},
}};

// The code point of "amp", "#38", "#x26"; 0 where the name is not known.
char32_t entity_value(std::string_view name) {
  if (!name.starts_with('#')) {
    const auto* found = std::find_if(kEntities.begin(), kEntities.end(), [&](const auto& e) { return e.first == name; });
    return found == kEntities.end() ? 0 : found->second;
  }
  name.remove_prefix(1);
  const bool hex = name.starts_with('x') || name.starts_with('X');
  if (hex) name.remove_prefix(1);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value, hex ? 16 : 10);
  const bool good = error == std::errc() && end == name.data() + name.size() && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  return good ? static_cast<char32_t>(value) : 0;
}

struct Tag {
  std::string_view name, attributes;  // name without the slash
  bool closing = false;
  bool empty = false;  // <br>, <img/>: has no end tag
  size_t end = 0;      // position behind the '>'
};

// The tag whose '<' stands at `at`; '>' inside quotes does not end it.
Tag read_tag(std::string_view html, size_t at) {
  Tag tag;
  size_t i = at + 1;
  tag.closing = i < html.size() && html[i] == '/';
  if (tag.closing) ++i;
  const size_t name = i;
  while (i < html.size() && std::isalnum(static_cast<unsigned char>(html[i]))) ++i;
  tag.name = html.substr(name, i - name);
  const size_t attributes = i;
  for (char quote = 0; i < html.size() && (quote != 0 || html[i] != '>'); ++i) {
    if (quote != 0 ? html[i] == quote : html[i] == '"' || html[i] == '\'') quote = quote != 0 ? '\0' : html[i];
  }
  tag.attributes = html.substr(attributes, i - attributes);
  tag.end = std::min(i + 1, html.size());
  constexpr std::array<std::string_view, 7> kEmpty = {"br", "img", "input", "meta", "link", "hr", "wbr"};
  tag.empty = tag.attributes.ends_with('/') || std::find(kEmpty.begin(), kEmpty.end(), tag.name) != kEmpty.end();
  return tag;
}

std::string_view attribute(const Tag& tag, std::string_view name) {
  for (size_t at = tag.attributes.find(name); at != kNowhere; at = tag.attributes.find(name, at + 1)) {
    const size_t quote = at + name.size() + 1;
    const bool whole = at > 0 && std::isspace(static_cast<unsigned char>(tag.attributes[at - 1])) && quote < tag.attributes.size() &&
                       tag.attributes[quote - 1] == '=' && tag.attributes[quote] == '"';
    if (!whole) continue;
    const size_t end = tag.attributes.find('"', quote + 1);
    return end == kNowhere ? std::string_view{} : tag.attributes.substr(quote + 1, end - quote - 1);
  }
  return {};
}

// Position behind the end tag that belongs to the <span> whose content starts at `at`; the end of the text where there is none.
size_t span_end(std::string_view html, size_t at) {
  for (size_t depth = 1; (at = html.find('<', at)) != kNowhere;) {
    const Tag tag = read_tag(html, at);
    at = tag.end;
    if (tag.name != "span") continue;
    depth += tag.closing ? size_t(-1) : 1;
    if (depth == 0) return at;
  }
  return html.size();
}

// The variant to read of a switchinline span's content: the child whose id starts with "default", else the first child.
std::string_view choose_variant(std::string_view content) {
  std::string_view first;
  for (size_t at = content.find('<'); at != kNowhere; at = content.find('<', at)) {
    const Tag tag = read_tag(content, at);
    at = tag.end;
    if (tag.name != "span" || tag.closing) continue;
    const size_t end = span_end(content, at);
    const std::string_view child = content.substr(at, end - at);
    if (attribute(tag, "id").starts_with("default")) return child;
    if (first.empty()) first = child;
    at = end;
  }
  return first;
}

void append_text(std::string& out, std::string_view html, int depth) {
  constexpr int kMaxDepth = 8;  // variants within variants
  for (size_t at = 0; at < html.size();) {
    const size_t open = std::min(html.find('<', at), html.size());
    out += html.substr(at, open - at);
    if (open == html.size()) return;
    const Tag tag = read_tag(html, open);
    at = tag.end;
    if (tag.name == "br" || tag.name == "img") out.push_back(' ');
    if (tag.name == "span" && !tag.closing && attribute(tag, "class") == "switchinline" && depth < kMaxDepth) {
      const size_t end = span_end(html, at);
      append_text(out, choose_variant(html.substr(at, end - at)), depth + 1);
      at = end;
    }
  }
}

bool is_paragraph(std::string_view name) { return name == "p" || (name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6'); }

bool is_code(const Tag& tag) { return attribute(tag, "class").find("code") != kNowhere; }

}  // namespace

std::string decode_entities(std::string_view text) {
  constexpr size_t kLongestName = 10;
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t end = text[i] == '&' ? text.substr(i, kLongestName + 2).find(';') : kNowhere;
    const char32_t value = end == kNowhere ? 0 : entity_value(text.substr(i + 1, end - 1));
    if (value != 0) {
      append_utf8(out, value);
      i += end + 1;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

std::vector<HtmlParagraph> html_paragraphs(std::string_view html) {
  std::vector<HtmlParagraph> paragraphs;
  for (size_t at = html.find('<'); at != kNowhere; at = html.find('<', at)) {
    const Tag tag = read_tag(html, at);
    at = tag.end;
    const std::string_view id = attribute(tag, "id");
    if (tag.closing || id.empty() || !is_paragraph(tag.name)) continue;
    const size_t end = html.find("</" + std::string(tag.name) + ">", at);
    if (end == kNowhere) break;
    std::string text;
    append_text(text, html.substr(at, end - at), 0);
    text = decode_entities(text);
    const bool blank = std::all_of(text.begin(), text.end(), [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
    if (!blank && !is_code(tag)) paragraphs.push_back({std::string(id), std::move(text)});
    at = end;
  }
  return paragraphs;
}

}  // namespace jumok
