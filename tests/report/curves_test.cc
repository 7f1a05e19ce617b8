#include "report/curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "markup.h"
#include "report/axis.h"

namespace jumok {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Axis, TicksAreRoundAndEncloseTheValues) {
  const Axis axis = make_axis({0.3, 9.2}, {});
  EXPECT_EQ(axis.ticks, (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axis.place(0), 0);
  EXPECT_EQ(axis.place(10), 1);
  const Axis narrow = make_axis({4.951, 5.049}, {});
  EXPECT_EQ(narrow.ticks.size(), 7u);  // 4.94, 4.96, … 5.06
  EXPECT_EQ(narrow.label(narrow.ticks[0]), "4.94");
  EXPECT_EQ(make_axis({4.9, 5.1}, {.from_zero = true}).ticks.front(), 0);
  const Axis nothing = make_axis({0, 0}, {.from_zero = true});  // shares that are all 0 have no negative side
  EXPECT_EQ(nothing.low, 0);
  EXPECT_EQ(nothing.high, 1);
  EXPECT_EQ(make_axis({-3, 3}, {}).ticks, (std::vector<double>{-3, -2, -1, 0, 1, 2, 3}));
}

TEST(Axis, LabelsUseOneUnit) {
  const Axis updates = make_axis({0, 12000}, {.widen = false, .ticks = 8});
  EXPECT_EQ(updates.label(2000), "2k");
  EXPECT_EQ(updates.label(12000), "12k");
  EXPECT_EQ(updates.label(0), "0");
  EXPECT_EQ(make_axis({0, 3e6}, {}).label(500000), "0.5M");
  EXPECT_EQ(make_axis({0, 7e-4}, {}).label(2e-4), "0.0002");
}

TEST(Axis, LogarithmicTicks) {
  EXPECT_EQ(make_axis({1e-3, 100}, {.logarithmic = true}).ticks.size(), 6u);
  EXPECT_EQ(make_axis({2, 64, 0, -5}, {.logarithmic = true}).ticks, (std::vector<double>{2, 5, 10, 20, 50}));
  EXPECT_DOUBLE_EQ(make_axis({1, 100}, {.logarithmic = true}).place(10), 0.5);
  EXPECT_LE(make_axis({1e-300, 1e300}, {.logarithmic = true}).ticks.size(), 13u);
}

TEST(Axis, SingleMissingAndExtremeValuesStillGiveARange) {
  for (const std::vector<double>& values : {std::vector<double>{}, {kNaN}, {0}, {5}, {-7, -7}, {1e-12}, {1e300, -1e300}, {5, 5 + 1e-14}}) {
    for (const bool logarithmic : {false, true}) {
      const Axis axis = make_axis(values, {.logarithmic = logarithmic});
      EXPECT_LT(axis.low, axis.high);
      EXPECT_FALSE(axis.ticks.empty());
      EXPECT_LE(axis.ticks.size(), 15u);
    }
  }
}

std::vector<Series> two() { return {{"training <&>", {0, 1, 2, 3}, {4, 3, 2, 1.5}}, {"validation", {1, 3}, {3.5, 2.25}}}; }

TEST(Curves, AreWellFormedWithoutNetworkAndNameTheirLastValues) {
  const std::string svg = curves_svg("Loss \"of\" <it>", "updates", "nats & more", two());
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count(svg, "http"), 1);
  EXPECT_EQ(count(svg, "training &lt;&amp;&gt; 1.5"), 1);
  EXPECT_EQ(count(svg, "validation 2.25"), 1);
  EXPECT_EQ(count(svg, "<circle"), 6);
  EXPECT_EQ(count(svg, "validation: 3.5 at 1"), 1);
  EXPECT_EQ(count(svg, "nats &amp; more"), 1);
}

TEST(Curves, LinesDifferInDashNotInColourAlone) {
  const std::string svg = curves_svg("", "x", "y", two());
  EXPECT_EQ(count(svg, "stroke-dasharray=\"\""), 2);  // line and legend
  EXPECT_EQ(count(svg, "stroke-dasharray=\"7 4\""), 2);
}

std::string path_of(const std::string& svg) { return attributes(svg, "<path class=\"line", "d").front(); }

TEST(Curves, ALogarithmicAxisNamesTheSizesThatWereMeasured) {
  const CurveAxes axes{.title = "t", .x_label = "n", .y_label = "s", .log_x = true};
  const auto ticks = [&](const std::vector<double>& x) { return curves_svg(axes, {{"a", x, std::vector<double>(x.size(), 1)}}); };
  const std::string few = ticks({64, 128, 512});
  for (const char* tick : {">64</text>", ">128</text>", ">512</text>"}) EXPECT_EQ(count(few, tick), 1) << tick;
  EXPECT_EQ(count(few, ">200</text>"), 0);
  EXPECT_EQ(count(ticks({64, 65, 512}), ">65</text>"), 0);  // would lie over each other
}

TEST(Curves, MissingValuesInterruptTheLine) {
  const std::string path = path_of(curves_svg("", "x", "y", {{"a", {0, 1, 2, 3, 4}, {1, 2, kNaN, 2, 1}}}));
  EXPECT_EQ(count(path, "M"), 2);
  EXPECT_EQ(count(path, "L"), 2);
  EXPECT_EQ(path.find("nan"), std::string::npos);
}

TEST(Curves, OneSpikeInALongLineIsDrawn) {
  Series series{"a", {}, {}};
  for (int i = 0; i < 200'000; ++i) series.x.push_back(i), series.y.push_back(i == 123'456 ? 10 : 0.5);
  const std::string svg = curves_svg("", "x", "y", {series});
  EXPECT_LT(svg.size(), 60'000u);
  const std::string path = path_of(svg);
  double highest = 1e9;  // on the screen: the smallest y
  for (size_t at = 0; (at = path.find(' ', at)) != std::string::npos; ++at) highest = std::min(highest, std::stod(path.substr(at)));
  const std::string top = attributes(svg, "<path class=\"grid\"", "d").back();  // y = 10 is the highest grid line
  EXPECT_EQ(highest, std::stod(top.substr(top.find(' '))));
}

TEST(Curves, OddInputIsDrawnOrRefused) {
  EXPECT_EQ(markup_fault(curves_svg("", "", "", {})), "");
  EXPECT_EQ(markup_fault(curves_svg("t", "x", "y", {{"a", {}, {}}, {"b", {1}, {kNaN}}})), "");
  EXPECT_EQ(markup_fault(
                curves_svg({.title = "t", .x_label = "x", .y_label = "y", .log_x = true, .log_y = true}, {{"a", {0, 1, 10}, {-1, 0, 1}}})),
            "");
  const std::vector<Series> many(20, Series{std::string(200, 'n'), {0, 1}, {1, 1}});
  EXPECT_EQ(markup_fault(curves_svg("t", "x", "y", many)), "");
  EXPECT_THROW(curves_svg("t", "x", "y", {{"a", {1, 2}, {1}}}), Error);
}

}  // namespace
}  // namespace jumok
