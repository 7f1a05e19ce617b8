#include "report/arrows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/axis.h"
#include "report/svg.h"

namespace jumok {
namespace {

constexpr double kPlane = 310, kLeft = 56, kTop = 70, kBottom = 40, kRight = 120, kLabelFont = 13;  // px
constexpr const char* kShaftDashes[] = {"", "7 4", "2 3", "10 3 2 3"};

// A square part of the plane that holds the origin and all arrows.
Axis square_axis(const std::vector<Arrow>& arrows) {
  std::vector<double> ends = {0};
  for (const Arrow& a : arrows) ends.insert(ends.end(), {a.x, a.y});
  return make_axis(ends, {.ticks = 6});
}

struct Plane {
  Axis axis;
  double across(double x) const { return kLeft + axis.place(x) * kPlane; }
  double down(double y) const { return kTop + (1 - axis.place(y)) * kPlane; }
};

std::string grid(const Plane& p) {
  std::string svg = "<g font-size=\"12\">";
  for (const double tick : p.axis.ticks) {
    const char* line = tick == 0 ? "axis" : "grid";
    svg += fmt::format("<path class=\"{0}\" d=\"M{1:.1f} {2:.1f}v{3:.1f}M{4:.1f} {5:.1f}h{3:.1f}\"/>", line, p.across(tick), kTop, kPlane,
                       kLeft, p.down(tick));
    svg += fmt::format("<text class=\"soft\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", p.across(tick),
                       kTop + kPlane + 18, p.axis.label(tick));
    svg += fmt::format("<text class=\"soft\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", kLeft - 8, p.down(tick) + 4,
                       p.axis.label(tick));
  }
  return svg + "</g>";
}

std::string arrow(const Plane& p, const Arrow& a) {
  const double x = p.across(a.x), y = p.down(a.y), x0 = p.across(0), y0 = p.down(0);
  const double length = std::max(std::hypot(x - x0, y - y0), 1e-9), ux = (x - x0) / length, uy = (y - y0) / length;
  constexpr double kHead = 9, kHalf = 4.5;
  const double bx = x - kHead * ux, by = y - kHead * uy;  // where the head begins
  const std::string anchor = ux < -0.3 ? "end" : "start";
  return fmt::format(
      "<g class=\"s{}\"><path class=\"line\" stroke-dasharray=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>"
      "<path class=\"dot\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}z\"><title>{} ({}, {})</title></path>"
      "<text class=\"name word\" font-size=\"{}\" text-anchor=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>",
      a.group % 8, kShaftDashes[a.group % 4], x0, y0, bx, by, x, y, bx - kHalf * uy, by + kHalf * ux, bx + kHalf * uy, by - kHalf * ux,
      escape(a.name), short_number(a.x), short_number(a.y), kLabelFont, anchor, x + 8 * ux + (ux < -0.3 ? -2 : 2), y + 12 * uy + 4,
      escape(shortened(a.name, 120, kLabelFont)));
}

std::string legend(const std::vector<std::string>& groups) {
  std::string svg = fmt::format("<g font-size=\"{}\">", kLabelFont);
  double x = kLeft;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty()) continue;
    svg += fmt::format("<g class=\"s{}\"><path class=\"line\" stroke-dasharray=\"{}\" d=\"M{:.1f} {:.1f}h26\"/></g>", g % 8,
                       kShaftDashes[g % 4], x, kTop - 22);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + 32, kTop - 18, escape(groups[g]));
    x += 54 + text_width(groups[g], kLabelFont) * 1.05;
  }
  return svg + "</g>";
}

}  // namespace

std::string arrows_svg(const std::string& title, const std::vector<std::string>& groups, const std::vector<Arrow>& arrows) {
  const Plane plane{square_axis(arrows)};
  std::string svg = svg_open(kLeft + kPlane + kRight, kTop + kPlane + kBottom, title, "plane");
  svg += fmt::format("<text class=\"title\" font-size=\"15\" x=\"16\" y=\"27\">{}</text>", escape(title));
  svg += grid(plane) + legend(groups);
  for (const Arrow& a : arrows) svg += arrow(plane, a);
  return svg + "</svg>";
}

}  // namespace jumok
