// One HTML file that holds everything it shows: no network, no fonts, no scripts from elsewhere; light and dark, on screen and paper.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jumok {

// Builds a page from the top down. All text is plain and escaped here; only `figure` (a picture of this folder)
// and `markup` take what is ready.
class Page {
 public:
  explicit Page(std::string title);

  Page& heading(std::string_view text);  // a section
  Page& subheading(std::string_view text);
  Page& paragraph(std::string_view text);
  Page& formula(std::string_view text);  // set off, fixed-width, line breaks kept
  // Every row as long as the header, which is not drawn where all its cells are empty. Columns whose cells are all numbers (or empty, –)
  // are set right-aligned with tabular figures.
  Page& table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows, std::string_view caption = {});
  Page& figure(std::string_view svg, std::string_view caption = {});  // scrolls sideways where it is wider than the page
  Page& markup(std::string_view html);                                // as it is; the caller has escaped its texts

  std::string html() const;  // the complete file

  // A cell of figures, to be set right-aligned: 12, -0.5, 1.2e-3, 45 %, 12k, ×1.5, 3.1 ± 0.2; so is what stands where there is no number:
  // nothing, –, "blocked", "not allowed".
  static bool is_number(std::string_view cell);

 private:
  std::string title_, body_;
};

}  // namespace jumok
