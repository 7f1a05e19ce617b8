#include "report/curves.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "report/axis.h"
#include "report/svg.h"

namespace jumok {
namespace {

constexpr double kWidth = 760, kHeight = 400, kFont = 13, kGap = 8, kLegendRow = 22;  // px
constexpr size_t kMaxDots = 60;                                                       // lines of more points are drawn without dots
constexpr size_t kMaxPoints = 1500;                                                   // of a drawn line: about two to a pixel
constexpr const char* kDashes[] = {"", "7 4", "2 3", "10 3 2 3", "12 5", "4 2", "1 4", "14 3 4 3"};

struct Box {
  double left, top, right, bottom;
};

struct Chart {
  const CurveAxes& axes;
  const std::vector<Series>& series;
  Axis x, y;
  Box box;

  double across(double value) const { return box.left + x.place(value) * (box.right - box.left); }
  double down(double value) const { return box.bottom - y.place(value) * (box.bottom - box.top); }
  bool shows(const Series& s, size_t i) const { return x.shows(s.x[i]) && y.shows(s.y[i]); }
  std::optional<size_t> last(const Series& s) const {
    for (size_t i = s.x.size(); i-- > 0;) {
      if (shows(s, i)) return i;
    }
    return std::nullopt;
  }
};

Axis axis_of(const std::vector<Series>& series, std::vector<double> Series::*values, const AxisOptions& options) {
  std::vector<double> all;
  for (const Series& s : series) all.insert(all.end(), (s.*values).begin(), (s.*values).end());
  return make_axis(all, options);
}

// A logarithmic axis of a few sizes that stand apart has its ticks at these: 64, 128, 256 rather than 50, 100, 200.
void put_ticks_at_sizes(Axis& axis, const std::vector<Series>& series) {
  constexpr size_t kMost = 12;
  constexpr double kApart = 0.06;  // of the axis
  std::vector<double> sizes;
  for (const Series& s : series) sizes.insert(sizes.end(), s.x.begin(), s.x.end());
  std::erase_if(sizes, [&](double x) { return !axis.shows(x); });
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const auto close = [&](double a, double b) { return axis.place(b) - axis.place(a) < kApart; };
  if (sizes.size() < 2 || sizes.size() > kMost || std::adjacent_find(sizes.begin(), sizes.end(), close) != sizes.end()) return;
  axis.ticks = sizes;
}

std::string end_label(const Series& s, size_t i) { return fmt::format("{} {}", shortened(s.name, 130, kFont), short_number(s.y[i])); }

// Where each name of the legend begins: rows of them, as many as it takes.
struct LegendPlace {
  double x;
  int row;
};
std::vector<LegendPlace> legend_places(const std::vector<Series>& series, double left) {
  std::vector<LegendPlace> places;
  double x = left;
  int row = 0;
  for (const Series& s : series) {
    const double width = 32 + text_width(shortened(s.name, 130, kFont), kFont) * 1.05;
    if (x > left && x + width > kWidth) x = left, ++row;
    places.push_back({x, row});
    x += width + 22;
  }
  return places;
}

Chart chart_of(const CurveAxes& axes, const std::vector<Series>& series) {
  Chart chart{axes,
              series,
              axis_of(series, &Series::x, {.logarithmic = axes.log_x, .widen = false, .ticks = 8}),
              axis_of(series, &Series::y, {.logarithmic = axes.log_y, .from_zero = axes.y_from_zero}),
              {}};
  if (axes.log_x) put_ticks_at_sizes(chart.x, series);
  double ticks = 0, ends = 0;
  for (const double tick : chart.y.ticks) ticks = std::max(ticks, text_width(chart.y.label(tick), 12));
  for (const Series& s : series) {
    if (const auto i = chart.last(s)) ends = std::max(ends, text_width(end_label(s, *i), kFont) * 1.12);
  }
  chart.box = {16 + kFont + kGap + ticks + kGap, axes.title.empty() ? 40.0 : 66.0, kWidth - ends - 24, kHeight - 58};
  if (series.size() < 2)
    chart.box.top -= kLegendRow;
  else
    chart.box.top += kLegendRow * legend_places(series, chart.box.left).back().row;
  return chart;
}

std::string text(std::string_view attributes, std::string_view content) {
  return fmt::format("<text {}>{}</text>", attributes, escape(content));
}

std::string frame(const Chart& chart) {
  const Box& box = chart.box;
  std::string svg = "<g font-size=\"12\">";
  for (const double tick : chart.y.ticks) {
    const double y = chart.down(tick);
    svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", box.left, y, box.right);
    svg += text(fmt::format("class=\"soft\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\"", box.left - kGap, y + 4), chart.y.label(tick));
  }
  for (const double tick : chart.x.ticks) {
    const double x = chart.across(tick);
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v5\"/>", x, box.bottom);
    svg += text(fmt::format("class=\"soft\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\"", x, box.bottom + 19), chart.x.label(tick));
  }
  svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/></g>", box.left, box.bottom, box.right);
  const double middle = (box.top + box.bottom) / 2;
  svg += text(
      fmt::format("font-size=\"{}\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\"", kFont, (box.left + box.right) / 2, kHeight - 16),
      chart.axes.x_label);
  svg += text(
      fmt::format("font-size=\"{}\" text-anchor=\"middle\" transform=\"translate({} {:.1f}) rotate(-90)\"", kFont, 14 + kFont / 2, middle),
      chart.axes.y_label);
  if (!chart.axes.title.empty()) svg += text("class=\"title\" font-size=\"15\" x=\"16\" y=\"27\"", chart.axes.title);
  return svg;
}

// Of a long line only the first, lowest, highest and last of each group of points are drawn: no spike is lost.
std::vector<size_t> drawn_points(const Series& s) {
  std::vector<size_t> points;
  const size_t group = s.x.size() / (kMaxPoints / 4) + 1;
  for (size_t begin = 0; begin < s.x.size(); begin += group) {
    const size_t end = std::min(begin + group, s.x.size());
    std::vector<size_t> chosen = {begin, begin, begin, end - 1};
    for (size_t i = begin; i < end; ++i) {
      if (!(s.y[i] >= s.y[chosen[1]])) chosen[1] = i;
      if (!(s.y[i] <= s.y[chosen[2]])) chosen[2] = i;
    }
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    points.insert(points.end(), chosen.begin(), chosen.end());
  }
  return points;
}

std::string line(const Chart& chart, const Series& s, size_t index) {
  std::string path, dots;
  bool pen_down = false;
  for (const size_t i : drawn_points(s)) {
    if (!chart.shows(s, i)) {
      pen_down = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', chart.across(s.x[i]), chart.down(s.y[i]));
    pen_down = true;
    if (s.x.size() <= kMaxDots) {
      dots += fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}: {} at {}</title></circle>",
                          chart.across(s.x[i]), chart.down(s.y[i]), escape(s.name), short_number(s.y[i], 6), short_number(s.x[i], 6));
    }
  }
  return fmt::format("<g class=\"s{}\"><path class=\"line{}\" stroke-dasharray=\"{}\" d=\"{}\"/>{}</g>", index % 8,
                     s.x.size() > kMaxDots ? " long" : "", kDashes[index % 8], path, dots);
}

// Names and last values at the right, pushed apart where the lines end close together.
std::string end_labels(const Chart& chart) {
  struct Label {
    size_t series;
    double y;
    std::string words;
  };
  std::vector<Label> labels;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const auto i = chart.last(chart.series[s]);
    if (i) labels.push_back({s, chart.down(chart.series[s].y[*i]) + 4, end_label(chart.series[s], *i)});
  }
  std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
  constexpr double kApart = 16;
  for (size_t i = 1; i < labels.size(); ++i) labels[i].y = std::max(labels[i].y, labels[i - 1].y + kApart);
  double lowest = chart.box.bottom + 4;
  for (size_t i = labels.size(); i-- > 0; lowest -= kApart) labels[i].y = std::min(labels[i].y, lowest);
  std::string svg;
  for (const Label& label : labels) {
    svg +=
        fmt::format("<g class=\"s{}\">{}</g>", label.series % 8,
                    text(fmt::format("class=\"name\" font-size=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\"", kFont, chart.box.right + kGap, label.y),
                         label.words));
  }
  return svg;
}

std::string legend(const Chart& chart) {
  if (chart.series.size() < 2) return "";
  std::string svg = "<g font-size=\"13\">";
  const auto places = legend_places(chart.series, chart.box.left);
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const double x = places[s].x, y = chart.box.top - 20 - kLegendRow * (places.back().row - places[s].row);
    svg += fmt::format("<g class=\"s{}\"><path class=\"line\" stroke-dasharray=\"{}\" d=\"M{:.1f} {:.1f}h26\"/></g>", s % 8, kDashes[s % 8],
                       x, y);
    svg += text(fmt::format("x=\"{:.1f}\" y=\"{:.1f}\"", x + 32, y + 4), shortened(chart.series[s].name, 130, kFont));
  }
  return svg + "</g>";
}

}  // namespace

std::string curves_svg(const CurveAxes& axes, const std::vector<Series>& series) {
  for (const Series& s : series) {
    check(s.x.size() == s.y.size(), "curve '{}': expected as many x as y, found {} and {}", s.name, s.x.size(), s.y.size());
  }
  const Chart chart = chart_of(axes, series);
  std::string svg = svg_open(kWidth, kHeight, axes.title.empty() ? axes.y_label : axes.title, "curves") + frame(chart) + legend(chart);
  for (size_t s = 0; s < series.size(); ++s) svg += line(chart, series[s], s);
  return svg + end_labels(chart) + "</svg>";
}

std::string curves_svg(const std::string& title, const std::string& x_label, const std::string& y_label,
                       const std::vector<Series>& series) {
  return curves_svg(CurveAxes{.title = title, .x_label = x_label, .y_label = y_label}, series);
}

}  // namespace jumok
