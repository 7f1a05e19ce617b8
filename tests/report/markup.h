// A strict little reader of XML: enough to refuse every picture that a browser would.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jumok {

// What is wrong with the markup: unbalanced or misnested tags, unquoted or repeated attributes, bare & or <, control characters. "" when
// nothing is.
std::string markup_fault(std::string_view xml);

// The page without doctype and without the contents of <script> and <style>, which are not XML.
std::string without_code(std::string html);

// The texts between <name …> and </name>, in order.
std::vector<std::string> contents(const std::string& xml, const std::string& name);

// Of every tag that begins so ("<rect class=\"c "), the value of one attribute, in order.
std::vector<std::string> attributes(const std::string& xml, const std::string& beginning, const std::string& name);

// How often `part` stands in `text`.
int count(std::string_view text, std::string_view part);

}  // namespace jumok
