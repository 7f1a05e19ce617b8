#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "text/unicode.h"

namespace jumok {
namespace {

using Colour = std::array<int, 3>;

// Colours between `stops`, evenly spread.
Ramp blend(const std::vector<Colour>& stops) {
  Ramp ramp;
  for (int i = 0; i < kRampSteps; ++i) {
    const double place = static_cast<double>(i) / (kRampSteps - 1) * static_cast<double>(stops.size() - 1);
    const size_t left = std::min(static_cast<size_t>(place), stops.size() - 2);
    const double share = place - static_cast<double>(left);
    Colour colour{};
    for (size_t c = 0; c < 3; ++c) colour[c] = static_cast<int>(std::lround(stops[left][c] * (1 - share) + stops[left + 1][c] * share));
    ramp[static_cast<size_t>(i)] = fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
  }
  return ramp;
}

struct Range {
  char32_t first, last;
};

constexpr Range kCombining[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
                                {0x06d6, 0x06dc}, {0x0900, 0x0902}, {0x093c, 0x093c}, {0x0941, 0x0948}, {0x0e31, 0x0e31},
                                {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                                {0x202a, 0x202e}, {0x2060, 0x2069}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
constexpr Range kWide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                           {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

template <size_t N>
bool within(const Range (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](const Range& range) { return c >= range.first && c <= range.last; });
}

// In em. The Latin widths are those of common sans-serif fonts, a little generous.
double character_width(char32_t c) {
  constexpr std::u32string_view kNarrow = U"iljtfrI.,:;'|!()[] ", kBroad = U"mwMWQO@%—▁";
  if (c >= 0x300 && within(kCombining, c)) return 0;
  if (c >= 0x1100 && within(kWide, c)) return 1;
  if (kNarrow.find(c) != std::u32string_view::npos) return 0.36;
  if (kBroad.find(c) != std::u32string_view::npos) return 0.88;
  return c >= 'A' && c <= 'Z' ? 0.68 : 0.58;
}

bool allowed_in_xml(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c != 0x7f && !(c >= 0x80 && c <= 0x9f) && c != 0xfffe && c != 0xffff);
}

void append_theme(std::string& css, std::string_view before, const Ramp& ramp, std::string_view variables,
                  const std::array<const char*, 8>& lines, std::string_view after) {
  css += before;
  css += fmt::format(".jm{{{}}}", variables);
  for (size_t i = 0; i < ramp.size(); ++i) css += fmt::format(".jm .w{}{{fill:{}}}", i, ramp[i]);
  for (size_t i = 0; i < lines.size(); ++i) css += fmt::format(".jm .s{}{{--line:{}}}", i, lines[i]);
  css += after;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string safe;
  for (size_t position = 0; position < text.size();) {
    const char32_t c = next_code_point(text, position);
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        append_utf8(safe, allowed_in_xml(c) ? c : kReplacement);
    }
  }
  return safe;
}

double text_width(std::string_view text, double font_size) {
  double width = 0;
  for (size_t position = 0; position < text.size();) width += character_width(next_code_point(text, position));
  return width * font_size;
}

std::string shortened(std::string_view text, double width, double font_size) {
  if (text_width(text, font_size) <= width) return std::string(text);
  double used = font_size;  // of the "…"
  size_t kept = 0;
  for (size_t position = 0; position < text.size(); kept = position) {
    used += character_width(next_code_point(text, position)) * font_size;
    if (used > width) break;
  }
  return std::string(text.substr(0, kept)) + "…";
}

std::string short_number(double value, int digits) {
  if (!std::isfinite(value)) return "–";
  for (const auto& [unit, sign] : {std::pair{1e9, "G"}, {1e6, "M"}, {1e4, "k"}}) {
    const double scale = unit == 1e4 ? 1e3 : unit;  // thousands in full up to 9999
    if (std::abs(value) >= unit && std::abs(value) < 1e15) return fmt::format("{:.{}g}{}", value / scale, std::max(digits, 3), sign);
  }
  return value == 0 ? "0" : fmt::format("{:.{}g}", value, digits);
}

Ramp light_ramp() {
  return blend({{247, 251, 255},
                {222, 235, 247},
                {198, 219, 239},
                {158, 202, 225},
                {107, 174, 214},
                {66, 146, 198},
                {33, 113, 181},
                {8, 81, 156},
                {8, 48, 107}});
}

Ramp dark_ramp() {
  return blend({{24, 31, 42},
                {24, 46, 74},
                {25, 64, 107},
                {30, 86, 142},
                {45, 112, 176},
                {74, 142, 206},
                {114, 174, 229},
                {164, 207, 245},
                {222, 240, 255}});
}

int ramp_step(float weight) {
  if (std::isnan(weight)) return 0;
  return static_cast<int>(std::lround(std::pow(std::clamp(weight, 0.0f, 1.0f), kRampPower) * (kRampSteps - 1)));
}

std::string svg_style() {
  // Lines: Okabe and Ito's colours for colour-blind eyes (2008), darkened or lightened to stand out from the ground.
  constexpr std::array<const char*, 8> kLight = {"#0b62a4", "#c44e00", "#00805c", "#a3467d", "#b07d00", "#2f8fc4", "#5b6675", "#1a2433"};
  constexpr std::array<const char*, 8> kDark = {"#6db6f2", "#ff9b5c", "#3fcf9f", "#e79bc6", "#f0c04d", "#9ad8fa", "#a8b3c2", "#eef2f7"};
  std::string css =
      ".jm{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Noto Sans CJK KR','Apple SD Gothic Neo','Malgun Gothic',"
      "NanumGothic,sans-serif;font-variant-numeric:tabular-nums}"
      ".jm text{fill:var(--ink)}.jm .soft{fill:var(--soft)}.jm .title{font-weight:600}.jm .ground{fill:var(--ground)}"
      ".jm .word{unicode-bidi:plaintext}.jm .on{font-weight:700;fill:var(--accent)}"
      ".jm .mark{fill:none;stroke:var(--accent);stroke-width:2;pointer-events:none}"
      ".jm .c:hover{stroke:var(--accent);stroke-width:2}.jm .nan{fill:var(--grid);stroke:var(--soft);stroke-dasharray:2 2}"
      ".jm .grid{stroke:var(--grid)}.jm .axis{stroke:var(--soft)}.jm "
      ".line{fill:none;stroke:var(--line);stroke-width:2;stroke-linejoin:round}.jm .long{stroke-width:1.4}"
      ".jm .dot{fill:var(--line);stroke:var(--ground)}.jm text.name{fill:var(--line);font-weight:600}";
  constexpr std::string_view kLightVariables = "--ink:#1a2433;--soft:#5b6675;--grid:#e3e8ee;--ground:#fff;--accent:#c44e00";
  constexpr std::string_view kDarkVariables = "--ink:#e6ebf2;--soft:#98a4b5;--grid:#2a3442;--ground:#12171f;--accent:#ff9b5c";
  append_theme(css, "", light_ramp(), kLightVariables, kLight, "");
  append_theme(css, "@media screen and (prefers-color-scheme:dark){", dark_ramp(), kDarkVariables, kDark, "}");
  // Without this, browsers leave backgrounds out of print; cells are shapes, but the ground would go.
  css += "@media print{.jm{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";
  return "<style>" + css + "</style>";
}

std::string svg_open(double width, double height, std::string_view name, std::string_view css_class) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"jm {}\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\" "
             "role=\"img\" aria-label=\"{}\">",
             css_class, width, height, width, height, escape(name)) +
         svg_style() + fmt::format("<rect class=\"ground\" width=\"{:.0f}\" height=\"{:.0f}\"/>", width, height);
}

}  // namespace jumok
