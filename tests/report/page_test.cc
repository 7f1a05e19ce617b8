#include "report/page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "markup.h"
#include "report/attention_page.h"
#include "report/training_page.h"

namespace jumok {
namespace {

// Nothing that would make a browser fetch something: the one address is the name of the SVG language.
void expect_self_contained(const std::string& html) {
  EXPECT_EQ(markup_fault(without_code(html)), "");
  EXPECT_EQ(count(html, "://"), count(html, "xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* word : {"<link", "@import", "url(", "src=", "fetch(", "import("}) EXPECT_EQ(count(html, word), 0) << word;
}

TEST(Page, EscapesEveryText) {
  const std::string bad = "<script>alert('x')</script> & \"y\"";
  const std::string html =
      Page(bad).heading(bad).subheading(bad).paragraph(bad).formula(bad).table({bad}, {{bad}}, bad).figure("<svg/>", bad).html();
  expect_self_contained(html);
  EXPECT_EQ(count(html, "<script"), 0);
  EXPECT_EQ(count(html, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;"), 10);
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
}

TEST(Page, NumbersAreRightAlignedByColumn) {
  const std::string html =
      Page("t").table({"name", "BLEU", "time", "mixed"}, {{"a1", "34.2", "1:02:03", "12"}, {"b", "–", "", "twelve"}}).html();
  EXPECT_EQ(count(html, "class=\"number\""), 6);
  EXPECT_EQ(count(html, "<td class=\"number\">34.2</td>"), 1);
  EXPECT_EQ(count(html, "<td>12</td>"), 1);
  EXPECT_EQ(count(Page("t").table({"score"}, {{"1.5"}, {"blocked"}, {"not allowed"}}).html(), "class=\"number\""), 4);
  EXPECT_EQ(count(Page("t").table({"", ""}, {{"a", "b"}}).html(), "<thead>"), 0);
}

// A caption inside would be cut where a wide table scrolls.
TEST(Page, CaptionsStandOutsideOfWhatScrolls) {
  const std::string html = Page("t").table({"a"}, {{"b"}}, "below").figure("<svg/>", "under").html();
  EXPECT_EQ(count(html, "</table></div><figcaption>below</figcaption></figure>"), 1);
  EXPECT_EQ(count(html, "<svg/></div><figcaption>under</figcaption></figure>"), 1);
}

// 13 columns of lab heads: one line of headers made the table wider than the page.
TEST(Page, TablesOfManyColumnsBreakTheirHeaders) {
  const auto page = [](size_t columns) { return Page("t").table(std::vector<std::string>(columns, "a b"), {}).html(); };
  EXPECT_EQ(count(page(8), "<table>"), 1);
  EXPECT_EQ(count(page(13), "<table class=\"wide\">"), 1);
  EXPECT_EQ(count(page(13), "table.wide th{white-space:normal"), 1);
}

TEST(Page, RowsOfAnotherLengthAreRefused) { EXPECT_THROW(Page("t").table({"a", "b"}, {{"1"}}), Error); }

AttentionExample example() {
  AttentionExample e{"a </script> b", "שלום <b>", "참조 & \"", "", {"שלום", "</script>"}, {"a", "</script>"}, 2, 2, {}};
  e.maps = {{0, 1, 0.5f, NAN}, {1, 0, 0, 1}, {0.5f, 0.5f, 0.5f, 0.5f}, {0.1f, 0.9f, 0.9f, 0.1f}};
  return e;
}

TEST(AttentionPage, IsSelfContainedAndEscaped) {
  const std::vector<AttentionExample> examples = {example(), example()};
  const std::string html = attention_page("Title & <x>", examples);
  expect_self_contained(html);
  EXPECT_EQ(count(html, "<script"), 3);
  EXPECT_EQ(count(html, "</script>"), 3);  // none from the words
  EXPECT_EQ(count(html, "<dd class=\"output\" dir=\"auto\">שלום &lt;b&gt;</dd>"), 2);
}

// The same page is made of every kind of attention, and of an encoder's nothing was produced.
TEST(AttentionPage, SaysWhatRowsAndColumnsAreOfEachKind) {
  const std::string html = attention_page("t", std::vector{example()});
  EXPECT_EQ(count(html, "Each row of a map is one piece that was produced"), 0);
  for (const char* part : {"Over the source, rows are the pieces produced and columns those of the source;",
                           "within an encoder both are the pieces of the source;",
                           "within a decoder, and of a text, rows are the pieces produced and columns what stands before them"}) {
    EXPECT_EQ(count(html, part), 1) << part;
  }
}

TEST(AttentionPage, HasAMapForEveryHeadAndTheirMeans) {
  const std::string html = attention_page("t", std::vector{example()});
  EXPECT_EQ(count(html, "<canvas aria-hidden=\"true\" width=\"2\" height=\"2\""), 4);
  EXPECT_EQ(count(html, "data-layer=\"1\" data-head=\"0\""), 1);
  EXPECT_EQ(count(html, "<button"), 4 + 2 + 1);
  // Mean over the four maps: (0 + 1 + 0.5 + 0.1) / 4 and so on; one NaN makes NaN.
  EXPECT_EQ(count(html, "\u2068שלום\u2069 ← \u2068a\u2069: 0.4000"), 1);
  EXPECT_EQ(count(html, "class=\"c nan\""), 1);
  AttentionExample single = example();
  single.layers = single.heads = 1;
  single.maps.resize(1);
  EXPECT_EQ(count(attention_page("t", std::vector{single}), "<button"), 0);
}

// By hand: rows (1, 0) and (0, 1) have no entropy, (0.5, 0.5) a bit, (0.1, 0.9) 0.469; of two columns a bit is the most.
TEST(AttentionPage, TellsTheEntropyOfEveryHead) {
  const std::string html = attention_page("t", std::vector{example()});
  EXPECT_EQ(count(html, "1<small>0.00</small>"), 1);  // layer 0, head 1
  EXPECT_EQ(count(html, "0<small>1.00</small>"), 1);
  EXPECT_EQ(count(html, "1<small>0.47</small>"), 1);
  EXPECT_EQ(count(html, "data-told=\"2 × 2 pieces, entropy 0.47 of 1.00 bits\""), 1);
  EXPECT_EQ(count(html, "aria-label=\"layer 1, head 1\""), 1);
}

TEST(AttentionPage, CarriesTheWeightsForTheScript) {
  const auto scripts = contents(attention_page("t", std::vector{example()}), "script");
  ASSERT_EQ(scripts.size(), 2u);
  const auto data = nlohmann::json::parse(scripts[0]);
  EXPECT_EQ(data["rows"], (std::vector<std::string>{"שלום", "</script>"}));
  EXPECT_EQ(data["heads"], 2);
  // Python: base64.b64encode(struct.pack("<4H", 0, 65534, 32767, 65535))
  EXPECT_EQ(data["maps"][0], "AAD+//9///8=");
}

TEST(AttentionPage, WrongCountsAreRefusedByNumberOfTheSentence) {
  AttentionExample few = example(), small = example(), none = example();
  few.maps.pop_back();
  small.maps[2].pop_back();
  none.layers = 0;
  for (const auto& bad : {few, small, none}) {
    try {
      attention_page("t", std::vector{example(), bad});
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("sentence 2"), std::string::npos) << error.what();
    }
  }
}

TEST(TrainingPage, ShowsWhatWasMeasured) {
  TrainingCurves curves{"Run <1>", {{"model", "a & b"}}, {}, {}};
  for (int i = 1; i <= 100; ++i) curves.training.push_back({i * 10.0, i * 4.0, 5.0 - i * 0.02, 5000, 1e-4});
  curves.validation = {{500, 200, 4.1, 12.5, NAN}, {1000, 400, 3.25, 20.25, NAN}};
  const std::string html = training_page(curves);
  expect_self_contained(html);
  EXPECT_EQ(count(html, "<svg"), 6);
  EXPECT_EQ(count(html, "validation 3.25"), 2);
  EXPECT_EQ(count(html, "BLEU 20.25"), 2);
  EXPECT_EQ(count(html, ">minutes<"), 2);
  EXPECT_EQ(count(html, "<td class=\"number\">0:06:40</td>"), 1);
  EXPECT_EQ(count(html, "<td class=\"number\">25.79</td>"), 1);  // e^3.25
  expect_self_contained(training_page({}));
  EXPECT_EQ(count(training_page({}), "<svg"), 0);
}

}  // namespace
}  // namespace jumok
