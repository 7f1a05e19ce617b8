#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/page_style.h"
#include "report/svg.h"

namespace jumok {
namespace {

std::string table_row(std::string_view tag, const std::vector<std::string>& cells, const std::vector<bool>& numeric) {
  std::string html = "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    html += fmt::format("<{}{}{}>{}</{}>", tag, tag == "th" ? " scope=\"col\"" : "", numeric[i] ? " class=\"number\"" : "",
                        escape(cells[i]), tag);
  }
  return html + "</tr>\n";
}

// Outside of what scrolls, so that it is never cut.
std::string caption_below(std::string_view caption) {
  return caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escape(caption));
}

}  // namespace

bool Page::is_number(std::string_view cell) {
  for (const std::string_view none : {"", "–", "-", "blocked", "not allowed"}) {
    if (cell == none) return true;
  }
  const size_t digits = static_cast<size_t>(std::count_if(cell.begin(), cell.end(), [](char c) { return c >= '0' && c <= '9'; }));
  const size_t letters =
      static_cast<size_t>(std::count_if(cell.begin(), cell.end(), [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }));
  return digits > 0 && letters <= 2 && cell.size() <= 24 && cell.find_first_of("0123456789") <= 3;
}

Page::Page(std::string title) : title_(std::move(title)) {}

Page& Page::heading(std::string_view text) { return markup(fmt::format("<h2>{}</h2>\n", escape(text))); }

Page& Page::subheading(std::string_view text) { return markup(fmt::format("<h3>{}</h3>\n", escape(text))); }

Page& Page::paragraph(std::string_view text) { return markup(fmt::format("<p>{}</p>\n", escape(text))); }

Page& Page::formula(std::string_view text) { return markup(fmt::format("<pre>{}</pre>\n", escape(text))); }

Page& Page::table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows, std::string_view caption) {
  std::vector<bool> numeric(header.size(), !rows.empty());
  for (size_t r = 0; r < rows.size(); ++r) {
    check(rows[r].size() == header.size(), "table '{}': row {}: expected {} cells, found {}", caption, r + 1, header.size(),
          rows[r].size());
    for (size_t i = 0; i < header.size(); ++i) numeric[i] = numeric[i] && is_number(rows[r][i]);
  }
  constexpr size_t kWide = 8;  // with more columns, headers are broken between words and cells stand closer
  std::string html = fmt::format("<figure><div class=\"scroll\"><table{}>", header.size() > kWide ? " class=\"wide\"" : "");
  const bool named = std::any_of(header.begin(), header.end(), [](const std::string& name) { return !name.empty(); });
  html += (named ? "<thead>" + table_row("th", header, numeric) + "</thead>" : "") + "<tbody>";
  for (const auto& row : rows) html += table_row("td", row, numeric);
  return markup(html + "</tbody></table></div>" + caption_below(caption) + "</figure>\n");
}

Page& Page::figure(std::string_view svg, std::string_view caption) {
  return markup(fmt::format("<figure><div class=\"scroll\">{}</div>{}</figure>\n", svg, caption_below(caption)));
}

Page& Page::markup(std::string_view html) {
  body_ += html;
  return *this;
}

std::string Page::html() const {
  const std::string title = escape(title_);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n<style>{}</style>\n</head>\n"
      "<body>\n<main>\n<h1>{}</h1>\n{}</main>\n</body>\n</html>\n",
      title, page_style(), title, body_);
}

}  // namespace jumok
