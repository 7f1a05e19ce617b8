#include "markup.h"

#include <algorithm>
#include <set>

namespace jumok {
namespace {

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == ':'; }

// "" or the fault of character data: every & begins one of the five entities or a number.
std::string text_fault(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') return "control character";
    if (text[i] == '<') return "bare <";
    if (text[i] != '&') continue;
    const std::string_view rest = text.substr(i);
    bool known = false;
    for (const char* entity : {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"}) known |= rest.starts_with(entity);
    if (!known) return "bare &: " + std::string(rest.substr(0, 20));
  }
  return "";
}

// Reads ` a="b" c="d"` up to > or />; position ends at it.
std::string attributes_fault(std::string_view xml, size_t& position) {
  std::set<std::string> seen;
  for (;;) {
    const size_t before = position;
    while (position < xml.size() && (xml[position] == ' ' || xml[position] == '\n')) ++position;
    if (position >= xml.size()) return "unended tag";
    if (xml[position] == '>' || xml.substr(position, 2) == "/>") return "";
    if (position == before) return "no space before an attribute";
    const size_t begin = position;
    while (position < xml.size() && is_name(xml[position])) ++position;
    const std::string name(xml.substr(begin, position - begin));
    if (name.empty() || !seen.insert(name).second) return "attribute '" + name + "' unnamed or twice";
    if (xml.substr(position, 2) != "=\"") return "unquoted attribute " + name;
    const size_t end = xml.find('"', position + 2);
    if (end == std::string_view::npos) return "unended attribute " + name;
    if (const auto fault = text_fault(xml.substr(position + 2, end - position - 2)); !fault.empty()) return fault + " in " + name;
    position = end + 1;
  }
}

}  // namespace

std::string markup_fault(std::string_view xml) {
  std::vector<std::string> open;
  for (size_t position = 0; position < xml.size();) {
    const size_t next = std::min(xml.find('<', position), xml.size());
    if (const auto fault = text_fault(xml.substr(position, next - position)); !fault.empty()) return fault;
    if (next == xml.size()) break;
    position = next + 1;
    const bool closing = xml.substr(position, 1) == "/";
    position += closing;
    const size_t begin = position;
    while (position < xml.size() && is_name(xml[position])) ++position;
    const std::string name(xml.substr(begin, position - begin));
    if (name.empty()) return "unnamed tag";
    if (closing) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
      if (xml.substr(position, 1) != ">") return "unended </" + name;
      open.pop_back();
      ++position;
      continue;
    }
    if (const auto fault = attributes_fault(xml, position); !fault.empty()) return "<" + name + ">: " + fault;
    const bool empty = xml[position] == '/';
    position += empty ? 2 : 1;
    if (!empty) open.push_back(name);
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

std::string without_code(std::string html) {
  const std::string doctype = "<!DOCTYPE html>";
  if (html.starts_with(doctype)) html.erase(0, doctype.size());
  for (const std::string name : {"script", "style"}) {
    for (size_t at = 0; (at = html.find("<" + name, at)) != std::string::npos;) {
      at = html.find('>', at) + 1;
      html.erase(at, html.find("</" + name + ">", at) - at);
    }
  }
  return html;
}

std::vector<std::string> contents(const std::string& xml, const std::string& name) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = xml.find("<" + name, at)) != std::string::npos;) {
    const bool whole_name = !is_name(xml[at + 1 + name.size()]);
    at = xml.find('>', at) + 1;
    if (!whole_name) continue;
    found.push_back(xml.substr(at, xml.find("</" + name + ">", at) - at));
  }
  return found;
}

std::vector<std::string> attributes(const std::string& xml, const std::string& beginning, const std::string& name) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = xml.find(beginning, at)) != std::string::npos; ++at) {
    const std::string tag = xml.substr(at, xml.find('>', at) - at), before = " " + name + "=\"";
    const size_t value = tag.find(before);
    if (value == std::string::npos) continue;
    const size_t begin = value + before.size();
    found.push_back(tag.substr(begin, tag.find('"', begin) - begin));
  }
  return found;
}

int count(std::string_view text, std::string_view part) {
  int times = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++times;
  return times;
}

}  // namespace jumok
