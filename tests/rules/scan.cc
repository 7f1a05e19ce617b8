// Just enough of C++'s grammar to blank out literals and to find where functions begin and end.
#include <algorithm>
#include <cctype>
#include <regex>
#include <string_view>

#include "rules.h"

namespace jumok::rules {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// 1'000'000 holds digit separators, not characters: is the mark at `at` inside a word that begins with a digit?
bool is_digit_separator(const std::string& text, size_t at) {
  size_t begin = at;
  while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == '\'')) --begin;
  return begin < at && std::isdigit(static_cast<unsigned char>(text[begin]));
}

// The end (one past the last character) of the comment or literal that begins at `begin`; `begin` itself when none begins there.
size_t literal_end(const std::string& text, size_t begin) {
  const auto after = [&](const std::string& mark, size_t from) {
    const size_t at = text.find(mark, from);
    return at == std::string::npos ? text.size() : at + mark.size();
  };
  if (text.compare(begin, 2, "//") == 0) return std::min(text.find('\n', begin), text.size());
  if (text.compare(begin, 2, "/*") == 0) return after("*/", begin + 2);
  if (text.compare(begin, 2, "R\"") == 0 && (begin == 0 || !is_word(text[begin - 1]))) {
    const size_t bracket = std::min(text.find('(', begin), text.size());
    return after(")" + text.substr(begin + 2, bracket - begin - 2) + "\"", bracket);
  }
  const char quote = text[begin];
  if ((quote != '"' && quote != '\'') || (quote == '\'' && is_digit_separator(text, begin))) return begin;
  size_t end = begin + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

int line_of(const std::string& text, size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

// Preprocessor lines (with their continuations) end no statement and open no block.
std::string blank_directives(std::string code) {
  for (size_t line = 0; line < code.size();) {
    const size_t first = code.find_first_not_of(" \t", line);
    const bool directive = first != std::string::npos && code[first] == '#';
    bool continued;
    do {
      const size_t end = std::min(code.find('\n', line), code.size());
      continued = directive && end > line && code[end - 1] == '\\';
      if (directive) std::fill(code.begin() + static_cast<long>(line), code.begin() + static_cast<long>(end), ' ');
      line = end + 1;
    } while (continued && line < code.size());
  }
  return code;
}

size_t closing_brace(const std::string& code, size_t open) {
  int depth = 0;
  for (size_t i = open; i < code.size(); ++i) {
    if (code[i] == '{') ++depth;
    if (code[i] == '}' && --depth == 0) return i;
  }
  return code.size() - 1;
}

// The text from the last statement's end to a brace: does it head a scope that holds declarations (namespace, class), so that functions lie
// inside?
bool heads_scope(const std::string& head) {
  static const std::regex kScope(R"(^\s*((inline\s+)?namespace\b|extern\s*$|(template\s*<[^{]*>\s*)?(class|struct|union|enum)\b[^()=]*$))");
  return std::regex_search(head, kScope);
}

bool ends_access_label(const std::string& code, size_t at) {
  if (code[at] != ':') return false;
  const std::string_view before = std::string_view(code).substr(0, at);
  return before.ends_with("public") || before.ends_with("protected") || before.ends_with("private");
}

std::string function_name(const std::string& head) {
  static const std::regex kName(R"(((\w+\s*::\s*)*(~?\w+|operator[^\w\s(]+))\s*\()");
  std::smatch match;
  if (!std::regex_search(head, match, kName)) return "";
  // TEST(Suite, Name) and its kin are named by what they hold.
  static const std::regex kTest(R"(\b(TEST\w*|TYPED_TEST\w*)\s*\(\s*(\w+)\s*,\s*(\w+))");
  std::smatch test;
  if (std::regex_search(head, test, kTest)) return test[2].str() + "." + test[3].str();
  return match[1];
}

}  // namespace

std::string blank_comments_and_literals(const std::string& text) {
  std::string code = text;
  for (size_t i = 0; i < text.size();) {
    const size_t end = literal_end(text, i);
    for (size_t j = i; j < end; ++j) {
      if (code[j] != '\n') code[j] = ' ';
    }
    i = std::max(end, i + 1);
  }
  return code;
}

std::vector<Function> find_functions(const std::string& raw) {
  const std::string code = blank_directives(raw);
  std::vector<Function> functions;
  size_t statement = 0;  // where the statement that may turn out to be a function's head begins
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i] == ';' || code[i] == '}' || ends_access_label(code, i)) statement = i + 1;
    if (code[i] != '{') continue;
    const std::string head = code.substr(statement, i - statement);
    if (heads_scope(head)) {
      statement = i + 1;
      continue;
    }
    i = closing_brace(code, i);
    const size_t next = code.find_first_not_of(" \t\n", i + 1);
    if (next != std::string::npos && std::string_view(",{)").find(code[next]) != std::string_view::npos)
      continue;  // a braced initialiser in a head
    const std::string name = function_name(head);
    const size_t begin = code.find_first_not_of(" \t\n", statement);
    if (!name.empty()) functions.push_back({name, line_of(code, begin), line_of(code, i)});
    statement = i + 1;
  }
  return functions;
}

}  // namespace jumok::rules
