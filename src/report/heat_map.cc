#include "report/heat_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "report/svg.h"

namespace jumok {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSlant = 55;      // degrees; labels of neighbouring columns keep clear of each other
constexpr double kMaxLabel = 150;  // px; longer words are cut, their tooltip has them whole
constexpr double kMargin = 14, kLabelGap = 7, kTitleHeight = 26, kLegendHeight = 46;

// All measures in px.
struct Layout {
  double cell, font, left, top, width, height;
};

double widest(const std::vector<std::string>& words, double font) {
  double width = 0;
  for (const auto& word : words) width = std::max(width, text_width(word, font));
  return std::min(width, kMaxLabel);
}

Layout layout_of(const HeatMap& map) {
  const size_t longest = std::max(map.rows.size(), map.columns.size());
  Layout layout{};
  layout.cell = longest <= 16 ? 30 : longest <= 32 ? 24 : longest <= 48 ? 19 : 15;
  layout.font = longest <= 16 ? 14 : longest <= 32 ? 13 : longest <= 48 ? 12 : 11;
  const double label = widest(map.columns, layout.font);
  layout.left = kMargin + widest(map.rows, layout.font) + kLabelGap;
  layout.top =
      (map.title.empty() ? kMargin : kMargin + kTitleHeight) + label * std::sin(kSlant * kPi / 180) + layout.font * 0.6 + kLabelGap;
  // The last label leans out to the right of the map.
  const double lean = label * std::cos(kSlant * kPi / 180);
  const double cells = layout.cell * static_cast<double>(map.columns.size());
  layout.width = std::max({layout.left + cells + lean + kMargin, layout.left + 230, kMargin * 2 + text_width(map.title, 15) * 1.12});
  layout.height = layout.top + layout.cell * static_cast<double>(map.rows.size()) + kLegendHeight + kMargin;
  return layout;
}

std::string label(std::string_view word, const Layout& layout, std::string_view place, bool marked = false) {
  const std::string shown = shortened(word, kMaxLabel, layout.font);
  const std::string whole = shown == word ? "" : "<title>" + escape(word) + "</title>";
  return fmt::format("<text class=\"word{}\" font-size=\"{}\" {}>{}{}</text>", marked ? " on" : "", layout.font, place, escape(shown),
                     whole);
}

std::string labels(const HeatMap& map, const Layout& layout) {
  std::string svg = "<g class=\"columns\">";
  for (size_t j = 0; j < map.columns.size(); ++j) {
    const double x = layout.left + layout.cell * (static_cast<double>(j) + 0.5) + layout.font * 0.2, y = layout.top - kLabelGap;
    svg += label(map.columns[j], layout, fmt::format("transform=\"translate({:.1f} {:.1f}) rotate(-{})\"", x, y, kSlant));
  }
  svg += "</g><g class=\"rows\" text-anchor=\"end\">";
  for (size_t i = 0; i < map.rows.size(); ++i) {
    const double y = layout.top + layout.cell * (static_cast<double>(i) + 0.5) + layout.font * 0.36;
    svg += label(map.rows[i], layout, fmt::format("x=\"{:.1f}\" y=\"{:.1f}\"", layout.left - kLabelGap, y), std::cmp_equal(i, map.marked));
  }
  return svg + "</g>";
}

// Words between isolates: a right-to-left word leaves arrow and number where they are.
std::string tooltip(const std::string& row, const std::string& column, float weight) {
  return fmt::format("\u2068{}\u2069 ← \u2068{}\u2069: {:.4f}", row, column, weight);
}

std::string cells(const HeatMap& map, const Layout& layout) {
  std::string svg = "<g class=\"cells\">";
  for (size_t i = 0; i < map.rows.size(); ++i) {
    for (size_t j = 0; j < map.columns.size(); ++j) {
      const float weight = map.weights[i * map.columns.size() + j];
      const std::string shade = std::isnan(weight) ? "nan" : fmt::format("w{}", ramp_step(weight));
      svg += fmt::format("<rect class=\"c {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"2\"><title>{}</title></rect>",
                         shade, layout.left + layout.cell * static_cast<double>(j), layout.top + layout.cell * static_cast<double>(i),
                         layout.cell - 1, layout.cell - 1, escape(tooltip(map.rows[i], map.columns[j], weight)));
    }
  }
  return svg + "</g>";
}

// A frame around the row; the pointer passes through it to the cells.
std::string mark(const HeatMap& map, const Layout& layout) {
  if (map.marked < 0) return "";
  return fmt::format("<rect class=\"mark\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\"/>", layout.left - 2,
                     layout.top + layout.cell * static_cast<double>(map.marked) - 2,
                     layout.cell * static_cast<double>(map.columns.size()) + 3, layout.cell + 3);
}

// The colour of every weight from 0 to 1.
std::string legend(const Layout& layout, double y) {
  constexpr double kStep = 2.5, kBarHeight = 9;
  std::string svg = "<g class=\"legend\" font-size=\"11\">";
  for (int i = 0; i < kRampSteps; ++i) {
    svg += fmt::format("<rect class=\"w{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>", i, layout.left + kStep * i, y,
                       kStep + 0.2, kBarHeight);
  }
  const double length = kStep * kRampSteps;
  for (const float weight : {0.0f, 0.1f, 0.25f, 0.5f, 1.0f}) {
    svg += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                       layout.left + length * ramp_step(weight) / (kRampSteps - 1), y + kBarHeight + 13, weight);
  }
  const double right = layout.left + length;
  return svg + fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\">weight</text></g>", right + 8, y + kBarHeight);
}

}  // namespace

std::string heat_map_svg(const HeatMap& map) {
  check(map.weights.size() == map.rows.size() * map.columns.size(), "heat map '{}': expected {} × {} weights, found {}", map.title,
        map.rows.size(), map.columns.size(), map.weights.size());
  check(std::cmp_less(map.marked, map.rows.size()), "heat map '{}': expected a row to mark of {}, found {}", map.title, map.rows.size(),
        map.marked);
  const Layout layout = layout_of(map);
  std::string svg = svg_open(layout.width, layout.height, map.title.empty() ? "attention weights" : map.title, "map");
  if (!map.title.empty())
    svg += fmt::format("<text class=\"title\" font-size=\"15\" x=\"{}\" y=\"{}\">{}</text>", kMargin, kMargin + 13, escape(map.title));
  svg += cells(map, layout) + mark(map, layout) + labels(map, layout);
  svg += legend(layout, layout.top + layout.cell * static_cast<double>(map.rows.size()) + 16);
  return svg + "</svg>";
}

}  // namespace jumok
