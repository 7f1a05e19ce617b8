#include "report/lab_page.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "markup.h"
#include "report/arrows.h"

namespace jumok {
namespace {

TEST(TextTable, FiguresStandToTheRightAndWideCharactersTakeTwoColumns) {
  EXPECT_EQ(text_table({"", {"word", "n"}, {{"단어", "1.5"}, {"x", "–"}, {"α≤β", "12"}}}),
            "word    n\n"
            "─────────\n"
            "단어  1.5\n"
            "x       –\n"
            "α≤β    12\n");
}

TEST(TextTable, RowsOfAnotherLengthAreRefused) { EXPECT_THROW(text_table({"", {"a", "b"}, {{"1"}}}), Error); }

// "What was trained" of lab compare: names, then settings of 250 columns.
TEST(TextTable, ALongLastColumnOfTextGoesOnBelowItself) {
  std::string settings = "transformer-tiny:";
  for (int i = 0; i < 12; ++i) settings += " attention.score=general";
  const std::string text = text_table({"", {"mechanism", "settings"}, {{"luong dot", settings}, {"none", "short"}}});
  std::istringstream lines(text);
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("─")) continue;
    EXPECT_LE(line.size(), 100u) << line;
    if (line.starts_with("luong dot") || line.starts_with(" ")) joined += (joined.empty() ? "" : " ") + line.substr(11);
  }
  EXPECT_EQ(joined, settings) << text;
  EXPECT_NE(text.find("\nnone       short\n"), std::string::npos) << text;
  EXPECT_EQ(count(text, "─"), 100);
}

TEST(LabReport, TextHoldsEverythingButThePictures) {
  LabReport r{
      "Title",
      "Question?",
      {{"Part", "a = b\nc = d", {std::string(70, 'x') + " " + std::string(40, 'y')}, {{"Below.", {"h"}, {{"1"}}}}, {{"<svg/>", "c"}}}}};
  EXPECT_EQ(lab_text(r), "Title\nQuestion?\n\nPart\n\n    a = b\n    c = d\n\n" + std::string(70, 'x') + "\n" + std::string(40, 'y') +
                             "\n\nh\n─\n1\nBelow.\n");
}

TEST(LabReport, TextLeavesSectionsOfPicturesOut) {
  const LabReport r{"Title", "Question?", {{"Curves", "", {"What they show."}, {}, {{"<svg/>", ""}}}, {"Words", "", {"Said."}, {}, {}}}};
  EXPECT_EQ(lab_text(r), "Title\nQuestion?\n\nWords\nSaid.\n");
}

TEST(LabReport, ThePageIsSelfContainedAndEscaped) {
  LabReport r{"<b>",
              "a & b",
              {{"<i>", "x < y", {"<p>"}, {{"<c>", {"<h>"}, {{"<d>"}}}}, {{arrows_svg("<t>", {"<g>"}, {{"<n>", 1, -2, 0}}), "<f>"}}}}};
  const std::string html = lab_page(r);
  EXPECT_EQ(markup_fault(without_code(html)), "");
  for (const char* tag : {"<b>", "<i>", "<c>", "<n>", "<g>", "<t>", "<f>"}) EXPECT_EQ(count(html, tag), 0) << tag;
  EXPECT_EQ(count(html, "://"), count(html, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST(Arrows, NamesAndNumbersOfEveryArrowAreThere) {
  const std::string svg = arrows_svg("t", {"a", "b"}, {{"cat", 0.8, 0.4, 0}, {"none", 0, 0, 1}});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count(svg, "cat (0.8, 0.4)"), 1);
  EXPECT_EQ(count(svg, "\"nan"), 0);  // an arrow without length has no direction
  EXPECT_EQ(count(svg, " nan"), 0);
}

}  // namespace
}  // namespace jumok
