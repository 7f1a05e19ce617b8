#include "report/heat_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "markup.h"

namespace jumok {
namespace {

HeatMap two_by_three() { return {{"고양이", "</s>"}, {"The", "cat", "\"&'"}, {0.0f, 1.0f, 0.25f, 0.1234f, 0.5f, 0.3766f}, "Layer <1>"}; }

TEST(HeatMap, IsOneWellFormedElementWithoutNetwork) {
  const std::string svg = heat_map_svg(two_by_three());
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
  EXPECT_EQ(count(svg, "http"), 1);
  EXPECT_EQ(count(svg, "xmlns=\"http://www.w3.org/2000/svg\""), 1);
  for (const char* word : {"url(", "@import", "href", "src="}) EXPECT_EQ(count(svg, word), 0) << word;
}

TEST(HeatMap, HasOneCellPerWeightInOrderWithWordsAndWeight) {
  const std::string svg = heat_map_svg(two_by_three());
  EXPECT_EQ(count(svg, "<rect class=\"c w"), 6);
  const auto titles = contents(svg, "title");
  ASSERT_EQ(titles.size(), 6u);
  EXPECT_EQ(titles[0], "\u2068고양이\u2069 ← \u2068The\u2069: 0.0000");
  EXPECT_EQ(titles[3], "\u2068&lt;/s&gt;\u2069 ← \u2068The\u2069: 0.1234");
  EXPECT_EQ(titles[5], "\u2068&lt;/s&gt;\u2069 ← \u2068&quot;&amp;&#39;\u2069: 0.3766");
  EXPECT_EQ(attributes(svg, "<rect class=\"c ", "class"),
            (std::vector<std::string>{"c w0", "c w63", "c w24", "c w15", "c w39", "c w32"}));  // round(63 · weight^0.7)
}

TEST(HeatMap, CellsStandInTheirRowAndColumn) {
  const std::string svg = heat_map_svg(two_by_three());
  const auto x = attributes(svg, "<rect class=\"c ", "x"), y = attributes(svg, "<rect class=\"c ", "y");
  ASSERT_EQ(x.size(), 6u);
  EXPECT_NEAR(std::stod(x[1]) - std::stod(x[0]), 30, 0.11);
  EXPECT_EQ(y[1], y[0]);
  EXPECT_EQ(x[3], x[0]);
  EXPECT_NEAR(std::stod(y[3]) - std::stod(y[0]), 30, 0.11);
}

TEST(HeatMap, NumbersOutsideTheScaleAreToldAsTheyAre) {
  const std::string svg = heat_map_svg({{"a"}, {"b", "c", "d"}, {NAN, 1.5f, -0.5f}, ""});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count(svg, "class=\"c nan\""), 1);
  EXPECT_EQ(count(svg, ": 1.5000"), 1);
  EXPECT_EQ(count(svg, ": -0.5000"), 1);
}

TEST(HeatMap, HardWordsStayReadable) {
  const std::vector<std::string> words = {"שָׁלוֹם", "السلام", "e\u0301", "<&>\"'", "\xff\x01", std::string(300, 'w'), "", "🙂", "\u202e"};
  const std::string svg = heat_map_svg({words, words, std::vector<float>(words.size() * words.size(), 0.1f), "t"});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count(svg, "unicode-bidi"), 1);
  EXPECT_GE(count(svg, "class=\"word\""), 18);
  EXPECT_GT(count(svg, std::string(300, 'w')), 0);  // the cut label has the whole word in its tooltip
}

TEST(HeatMap, LongSentencesAndEmptyOnes) {
  const std::vector<std::string> sixty(60, "word");
  const std::string svg = heat_map_svg({sixty, sixty, std::vector<float>(3600, 1.0f / 60), ""});
  EXPECT_EQ(count(svg, "class=\"c w"), 3600);
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(markup_fault(heat_map_svg({{}, {"a"}, {}, ""})), "");
  EXPECT_EQ(markup_fault(heat_map_svg({})), "");
}

TEST(HeatMap, AMarkedRowIsFramed) {
  HeatMap map = two_by_three();
  EXPECT_EQ(count(heat_map_svg(map), "class=\"mark\""), 0);
  map.marked = 1;
  const std::string svg = heat_map_svg(map);
  EXPECT_EQ(markup_fault(svg), "");
  const auto y = attributes(svg, "<rect class=\"c ", "y"), frame = attributes(svg, "<rect class=\"mark", "y");
  ASSERT_EQ(frame.size(), 1u);
  EXPECT_LT(std::stod(frame[0]), std::stod(y[3]));
  EXPECT_GT(std::stod(frame[0]), std::stod(y[0]));
  EXPECT_EQ(count(svg, "class=\"word on\""), 1);
  map.marked = 2;
  EXPECT_THROW(heat_map_svg(map), Error);
}

TEST(HeatMap, AWrongNumberOfWeightsIsRefused) { EXPECT_THROW(heat_map_svg({{"a", "b"}, {"c"}, {0.5f}, ""}), Error); }

}  // namespace
}  // namespace jumok
