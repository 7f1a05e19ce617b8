// Plain text from the HTML of help pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jumok {

struct HtmlParagraph {
  std::string id;    // of the <p>, <h1> … <h6>
  std::string text;  // without tags, entities decoded, white space as it stood
};

// The paragraphs and headings with an id, in order, except code (class "code" and the like) and those without text. Where the page holds
// variants of a phrase of which the browser shows one (class "switchinline": "Command" on a Mac, "Ctrl" elsewhere), the default variant is
// taken, or the first where there is no default. Total: any bytes give some result.
std::vector<HtmlParagraph> html_paragraphs(std::string_view html);

// Decodes &amp; &lt; &gt; &quot; &apos; &nbsp; and the common named entities of Latin text, &#123; and &#x7b;. Others stay as they are.
std::string decode_entities(std::string_view text);

}  // namespace jumok
