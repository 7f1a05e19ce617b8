// What an experiment shows, once for the terminal and once as a page.
#pragma once

#include <string>
#include <vector>

namespace jumok {

struct LabTable {
  std::string caption;  // may be empty
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each as long as the header
};
struct LabFigure {
  std::string svg;      // a picture of this folder
  std::string caption;  // may be empty
  bool small = false;   // stands beside its small neighbours
};
struct LabSection {
  std::string heading;
  std::string formula;             // set off, line breaks kept; may be empty
  std::vector<std::string> texts;  // paragraphs, between the formula and the tables
  std::vector<LabTable> tables;
  std::vector<LabFigure> figures;
};
struct LabReport {
  std::string title;
  std::string question;  // what the experiment asks, one or two sentences
  std::vector<LabSection> sections;
};

// One self-contained page: no network, no scripts.
std::string lab_page(const LabReport& report);

// The same as plain text without the pictures and the sections that have nothing else to show: headings, formulas, texts broken at 100
// columns, tables with aligned columns (figures to the right).
std::string lab_text(const LabReport& report);

// One aligned table, lines ended. A wide character (East Asian, emoji) takes two columns, a combining mark none. A table
// of more than 100 columns breaks the text of its last one between words.
std::string text_table(const LabTable& table);

}  // namespace jumok
