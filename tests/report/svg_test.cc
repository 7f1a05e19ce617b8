#include "report/svg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "markup.h"

namespace jumok {
namespace {

TEST(Markup, TheReaderOfTheseTestsRefusesWhatIsBroken) {
  EXPECT_EQ(markup_fault("<a x=\"1\"><b/>t &lt; u</a>"), "");
  for (const char* bad : {"<a>", "</a>", "<a></b>", "<a><b></a></b>", "<a x=1/>", "<a x=\"<\"/>", "a & b", "<a x=\"1\" x=\"2\"/>", "a < b",
                          "\x01", "<a x=\"1\"y=\"2\"/>", "<a", "<a x=\"1/>"}) {
    EXPECT_NE(markup_fault(bad), "") << bad;
  }
}

TEST(Svg, EscapesWhatMarkupMayNotHold) {
  EXPECT_EQ(escape("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
  EXPECT_EQ(escape("고양이 שָׁלוֹם e\u0301 🙂"), "고양이 שָׁלוֹם e\u0301 🙂");
  EXPECT_EQ(escape(std::string("a\0b\x1b"
                               "c",
                               5)),
            "a\uFFFDb\uFFFDc");
  EXPECT_EQ(escape("\xff\xc0\xaf"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(escape("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(escape("\xef\xbf\xbf"), "\uFFFD");  // U+FFFF is no XML character
}

TEST(Svg, WidthsKnowWideAndCombiningCharacters) {
  EXPECT_DOUBLE_EQ(text_width("고양이", 10), 30);
  EXPECT_DOUBLE_EQ(text_width("e\u0301", 10), text_width("e", 10));
  EXPECT_GT(text_width("WWW", 10), text_width("iii", 10));
  EXPECT_EQ(text_width("", 10), 0);
}

TEST(Svg, LongWordsAreCutBetweenCharacters) {
  EXPECT_EQ(shortened("short", 100, 10), "short");
  EXPECT_EQ(shortened("고양이고양이", 40, 10), "고양이…");
  EXPECT_EQ(shortened("aaae\u0301\u0302zzzzzzz", text_width("aaae", 10) + 10, 10), "aaae\u0301\u0302…");  // marks stay with their letter
}

TEST(Svg, NumbersAreShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(2.35), "2.35");
  EXPECT_EQ(short_number(9999), "9999");
  EXPECT_EQ(short_number(12345), "12.35k");
  EXPECT_EQ(short_number(-2'500'000), "-2.5M");
  EXPECT_EQ(short_number(0.0007), "0.0007");
  EXPECT_EQ(short_number(std::numeric_limits<double>::quiet_NaN()), "–");
}

// Relative luminance of "#rrggbb" (WCAG 2, the formula of its definition).
double luminance(const std::string& colour) {
  double sum = 0;
  for (const auto& [at, share] : {std::pair{1, 0.2126}, {3, 0.7152}, {5, 0.0722}}) {
    const double c = std::strtol(colour.substr(static_cast<size_t>(at), 2).c_str(), nullptr, 16) / 255.0;
    sum += share * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

TEST(Svg, RampsRunOneWayInLightnessSoTheyReadWithoutColour) {
  const Ramp light = light_ramp(), dark = dark_ramp();
  for (size_t i = 1; i < light.size(); ++i) {
    EXPECT_LT(luminance(light[i]), luminance(light[i - 1])) << i;
    EXPECT_GT(luminance(dark[i]), luminance(dark[i - 1])) << i;
  }
  EXPECT_GT((luminance(light[0]) + 0.05) / (luminance(light[63]) + 0.05), 10);
  EXPECT_GT((luminance(dark[63]) + 0.05) / (luminance(dark[0]) + 0.05), 10);
}

TEST(Svg, StepsGoFromEndToEndAndClamp) {
  EXPECT_EQ(ramp_step(0), 0);
  EXPECT_EQ(ramp_step(1), 63);
  EXPECT_EQ(ramp_step(0.5f), 39);  // 63 · 0.5^0.7 = 38.78
  EXPECT_EQ(ramp_step(-3), 0);
  EXPECT_EQ(ramp_step(1e30f), 63);
  EXPECT_EQ(ramp_step(std::numeric_limits<float>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace jumok
