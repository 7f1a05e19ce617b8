// What all pictures share: escaping, the width of a text, the colours of light, dark and paper.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace jumok {

// Text for XML and HTML, between tags and inside quoted attributes. What neither may hold (control characters, bad UTF-8) becomes U+FFFD.
std::string escape(std::string_view text);

// Approximate width in a sans-serif font of that size: enough to leave room for a label. Combining marks are 0, CJK and emoji one em wide.
double text_width(std::string_view text, double font_size);

// The text, or its beginning and "…" where it is wider than `width`; a letter keeps its combining marks.
std::string shortened(std::string_view text, double width, double font_size);

// A number as people write it: at most `digits` significant digits, no exponent between 1e-4 and 1e15, thousands and more as k, M, G.
std::string short_number(double value, int digits = 4);

// The scale of weights: kRampSteps shades of one blue whose lightness falls (light) or rises (dark) evenly from 0 to 1, so that it reads
// the same in grey, on paper and to colour-blind eyes. ColorBrewer's Blues, and its counterpart on a dark ground.
constexpr int kRampSteps = 64;
using Ramp = std::array<std::string, kRampSteps>;  // "#rrggbb"
Ramp light_ramp();
Ramp dark_ramp();
constexpr float kRampPower = 0.7f;  // the shade is weight^0.7: 0.02 and 0.1 must be told apart too
int ramp_step(float weight);        // of a number from 0 to 1; beyond: the nearest end

// The <style> every picture carries: ramp classes w0 … w63, line classes s0 … s7, text classes. Dark on a dark screen, never on paper.
std::string svg_style();

// "<svg …>" up to and with style, title and ground; `name` is read out by screen readers.
std::string svg_open(double width, double height, std::string_view name, std::string_view css_class);

}  // namespace jumok
