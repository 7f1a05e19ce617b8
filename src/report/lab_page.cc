#include "report/lab_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "report/page.h"
#include "report/svg.h"

namespace jumok {
namespace {

constexpr size_t kColumns = 100;  // of a text line

// Columns on a terminal: the widths of fonts tell combining marks (0) and wide characters (a whole em) from the rest.
size_t terminal_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0, next = 0; i < text.size(); i = next) {
    for (next = i + 1; next < text.size() && (text[next] & 0xc0) == 0x80;) ++next;
    const double em = text_width(text.substr(i, next - i), 1);
    width += em == 0 ? 0 : em >= 1 ? 2 : 1;
  }
  return width;
}

std::string padded(const std::string& cell, size_t width, bool right) {
  const std::string blank(width - std::min(width, terminal_width(cell)), ' ');
  return right ? blank + cell : cell + blank;
}

std::string text_row(const std::vector<std::string>& cells, const std::vector<size_t>& widths, const std::vector<bool>& right) {
  std::string line;
  for (size_t c = 0; c < cells.size(); ++c) line += (c > 0 ? "  " : "") + padded(cells[c], widths[c], right[c]);
  while (line.ends_with(' ')) line.pop_back();
  return line + "\n";
}

std::string indented(std::string_view lines) {
  std::string out = "    ";
  for (const char c : lines) out += c == '\n' ? "\n    " : std::string(1, c);
  return out + "\n";
}

// Broken between words; a longer word stands alone.
std::vector<std::string> lines_of(std::string_view text, size_t columns) {
  std::vector<std::string> lines = {""};
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const size_t width = terminal_width(word);
    if (column > 0 && column + 1 + width > columns) lines.emplace_back(), column = 0;
    if (column > 0) lines.back() += ' ', ++column;
    lines.back() += word;
    column += width;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string wrapped(std::string_view text) { return fmt::format("{}\n", fmt::join(lines_of(text, kColumns), "\n")); }

// A last column of text goes on below itself.
std::string text_rows(const std::vector<std::string>& cells, const std::vector<size_t>& widths, const std::vector<bool>& right) {
  if (cells.empty() || terminal_width(cells.back()) <= widths.back()) return text_row(cells, widths, right);
  std::string out;
  std::vector<std::string> line = cells;
  for (std::string& part : lines_of(cells.back(), widths.back())) {
    line.back() = std::move(part);
    out += text_row(line, widths, right);
    std::fill(line.begin(), line.end(), "");
  }
  return out;
}

// A last column of text, where the table is wider than a line of text: what is left of the line, if that is enough to read.
void narrow(std::vector<size_t>& widths, const std::vector<bool>& right, const std::string& last_header) {
  constexpr size_t kLeast = 30;
  if (widths.empty() || right.back()) return;
  const size_t rest = std::accumulate(widths.begin(), widths.end() - 1, 2 * (widths.size() - 1));
  if (rest + widths.back() > kColumns && rest + kLeast <= kColumns) widths.back() = std::max(kColumns - rest, terminal_width(last_header));
}

// Small ones in a row side by side are a gallery.
void add_figures(Page& page, const std::vector<LabFigure>& figures) {
  bool open = false;
  for (const LabFigure& f : figures) {
    if (f.small != open) page.markup(open ? "</div>\n" : "<div class=\"gallery\">\n");
    open = f.small;
    page.figure(f.svg, f.caption);
  }
  if (open) page.markup("</div>\n");
}

}  // namespace

std::string text_table(const LabTable& table) {
  const size_t columns = table.header.size();
  std::vector<size_t> widths(columns);
  std::vector<bool> right(columns, !table.rows.empty());
  for (size_t c = 0; c < columns; ++c) widths[c] = terminal_width(table.header[c]);
  for (const auto& row : table.rows) {
    check(row.size() == columns, "table '{}': expected rows of {} cells, found {}", table.caption, columns, row.size());
    for (size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], terminal_width(row[c]));
      right[c] = right[c] && Page::is_number(row[c]);
    }
  }
  narrow(widths, right, columns > 0 ? table.header.back() : "");
  size_t total = columns > 0 ? 2 * (columns - 1) : 0;
  for (const size_t w : widths) total += w;
  std::string out = text_row(table.header, widths, right);
  for (size_t i = 0; i < total; ++i) out += "─";
  out += "\n";
  for (const auto& row : table.rows) out += text_rows(row, widths, right);
  return out;
}

std::string lab_text(const LabReport& report) {
  std::string out = report.title + "\n" + wrapped(report.question);
  for (const LabSection& s : report.sections) {
    if (s.tables.empty() && !s.figures.empty()) continue;  // of pictures alone
    out += "\n" + s.heading + "\n";
    if (!s.formula.empty()) out += "\n" + indented(s.formula) + (s.texts.empty() ? "" : "\n");
    for (const std::string& text : s.texts) out += wrapped(text);
    for (const LabTable& t : s.tables) out += "\n" + text_table(t) + (t.caption.empty() ? "" : wrapped(t.caption));
  }
  return out;
}

std::string lab_page(const LabReport& report) {
  Page page(report.title);
  page.paragraph(report.question);
  for (const LabSection& s : report.sections) {
    page.heading(s.heading);
    if (!s.formula.empty()) page.formula(s.formula);
    for (const std::string& text : s.texts) page.paragraph(text);
    for (const LabTable& t : s.tables) page.table(t.header, t.rows, t.caption);
    add_figures(page, s.figures);
  }
  return page.html();
}

}  // namespace jumok
