#include "report/attention_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/attention_script.h"
#include "report/heat_map.h"
#include "report/page.h"
#include "report/svg.h"

namespace jumok {
namespace {

constexpr double kSmallMap = 64, kSmallMapOfLong = 96;  // px, of the longer side; long: beyond kLong words, where the choice stands below
constexpr double kLong = 32;

void check_maps(const AttentionExample& example, size_t number) {
  check(example.layers > 0 && example.heads > 0, "sentence {}: expected at least one layer and head, found {} and {}", number,
        example.layers, example.heads);
  const auto maps = static_cast<size_t>(example.layers) * static_cast<size_t>(example.heads);
  check(example.maps.size() == maps, "sentence {}: expected {} layers × {} heads, found {} maps", number, example.layers, example.heads,
        example.maps.size());
  for (const auto& map : example.maps) {
    check(map.size() == example.rows.size() * example.columns.size(), "sentence {}: expected {} × {} weights, found {}", number,
          example.rows.size(), example.columns.size(), map.size());
  }
}

std::vector<float> mean_of(const std::vector<std::vector<float>>& maps) {
  std::vector<float> mean(maps.front().size());
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const auto& map : maps) sum += map[i];
    mean[i] = static_cast<float>(sum / static_cast<double>(maps.size()));
  }
  return mean;
}

// Mean over the rows of −Σ_j α_j log2 α_j, in bits: 0 where each row looks at one column, log2 of their number where it looks at all alike.
double entropy_of(const std::vector<float>& map, size_t rows) {
  double sum = 0;
  for (const float weight : map) sum -= weight > 0 ? weight * std::log2(static_cast<double>(weight)) : 0;  // NaN is not above 0
  return rows > 0 ? std::max(sum, 0.0) / static_cast<double>(rows) : 0;
}

std::string told(const AttentionExample& example, double entropy) {
  const size_t rows = example.rows.size(), columns = example.columns.size();
  return fmt::format("{} × {} pieces, entropy {:.2f} of {:.2f} bits", rows, columns, entropy,
                     std::log2(static_cast<double>(std::max<size_t>(columns, 1))));
}

// Weights in 16 bits (steps of 1/65534; 65535 stands for NaN), little-endian, in base64: a quarter of the size of numbers in text.
std::string packed(const std::vector<float>& map) {
  std::string bytes;
  for (const float weight : map) {
    const auto step = static_cast<uint32_t>(std::isnan(weight) ? 65535 : std::lround(std::clamp(weight, 0.0f, 1.0f) * 65534));
    bytes += static_cast<char>(step & 255);
    bytes += static_cast<char>(step >> 8);
  }
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
  }
  return text;
}

// For the script: JSON in which no "</script>" can occur.
std::string data_of(const AttentionExample& example) {
  nlohmann::json data = {{"rows", example.rows}, {"columns", example.columns}, {"layers", example.layers}, {"heads", example.heads}};
  for (const auto& map : example.maps) data["maps"].push_back(packed(map));
  std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
  return text;
}

std::string texts(const AttentionExample& example) {
  std::string html = "<dl class=\"texts\">";
  const auto add = [&](std::string_view name, std::string_view css_class, const std::string& text) {
    if (!text.empty()) html += fmt::format("<dt>{}</dt><dd class=\"{}\" dir=\"auto\">{}</dd>", name, css_class, escape(text));
  };
  add("source", "source", example.source);
  add(example.source.empty() ? "text" : "translation", "output", example.output);
  add("reference", "reference", example.reference);
  return html + "</dl>";
}

struct Choice {
  int layer, head;        // -1: the mean of all
  std::string name, css;  // spoken; class
  std::string content;
};

std::string button(const AttentionExample& example, const std::vector<float>& map, const Choice& c) {
  return fmt::format(
      "<button type=\"button\" class=\"{}\" data-layer=\"{}\" data-head=\"{}\" data-name=\"{}\" data-told=\"{}\" aria-label=\"{}\" "
      "aria-pressed=\"{}\">{}</button>",
      c.css, c.layer, c.head, c.name, told(example, entropy_of(map, example.rows.size())), c.name, c.layer < 0 ? "true" : "false",
      c.content);
}

// The maps of one layer.
std::vector<std::vector<float>> layer_of(const AttentionExample& example, int layer) {
  const auto begin = example.maps.begin() + static_cast<int64_t>(layer) * example.heads;
  return {begin, begin + example.heads};
}

// A row of small maps for every layer, its mean first. Canvases: with 6 × 8 heads of 60 × 60 words, shapes would be 170 000 elements.
std::string choice(const AttentionExample& example) {
  const double rows = static_cast<double>(example.rows.size()), columns = static_cast<double>(example.columns.size());
  const double longer = std::max({rows, columns, 1.0});
  const double cell = std::min((longer > kLong ? kSmallMapOfLong : kSmallMap) / longer, 7.0);
  const std::string canvas =
      fmt::format("<canvas aria-hidden=\"true\" width=\"{}\" height=\"{}\" style=\"width:{:.0f}px;height:{:.0f}px\"></canvas>",
                  example.columns.size(), example.rows.size(), std::max(columns * cell, 1.0), std::max(rows * cell, 1.0));
  std::string html = fmt::format(
      "<div class=\"heads\" role=\"group\" aria-label=\"layers and heads\" style=\"grid-template-columns:repeat({},max-content)\">",
      example.heads + 1);
  if (example.layers > 1)
    html += button(example, mean_of(example.maps), {-1, -1, "mean of all layers and heads", "layer", "all"}) +
            fmt::format("<span style=\"grid-column:span {}\"></span>", example.heads);
  for (int layer = 0; layer < example.layers; ++layer) {
    const bool only = example.layers == 1;
    const std::vector<std::vector<float>> maps = layer_of(example, layer);
    html += button(example, mean_of(maps),
                   {only ? -1 : layer, -1, only ? "mean of all heads" : fmt::format("layer {}, mean of its heads", layer), "layer",
                    only ? "mean" : fmt::format("layer {}", layer)});
    for (int head = 0; head < example.heads; ++head) {
      const std::vector<float>& map = maps[static_cast<size_t>(head)];
      html += button(example, map,
                     {layer, head, fmt::format("layer {}, head {}", layer, head), "head",
                      fmt::format("{}{}<small>{:.2f}</small>", canvas, head, entropy_of(map, example.rows.size()))});
    }
  }
  return html + "</div>";
}

std::string section(const AttentionExample& example, int64_t number) {
  const bool single = example.maps.size() == 1;
  std::string html = fmt::format("<section class=\"attention\">\n<h2>Sentence {}</h2>\n", number) + texts(example);
  if (!example.note.empty()) html += fmt::format("<p>{}</p>", escape(example.note));
  const std::vector<float> mean = mean_of(example.maps);
  html += fmt::format("<figure><div class=\"now\"><b>{}</b><output>{}</output></div><div class=\"look\"><div class=\"scroll\">{}</div>",
                      single                ? "attention"
                      : example.layers == 1 ? "mean of all heads"
                                            : "mean of all layers and heads",
                      told(example, entropy_of(mean, example.rows.size())), heat_map_svg({example.rows, example.columns, mean, ""}));
  if (!single) html += choice(example);
  return html + fmt::format("</div></figure>\n<script type=\"application/json\">{}</script>\n</section>\n", data_of(example));
}

std::string ramps() {
  nlohmann::json ramps = {{"light", light_ramp()}, {"dark", dark_ramp()}};
  return ramps.dump();
}

}  // namespace

std::string attention_page(std::string_view title, std::span<const AttentionExample> examples) {
  Page page{std::string(title)};
  page.paragraph(
      "Each row of a map is one piece that asks, each column one that it could attend to. Over the source, rows are the pieces produced "
      "and "
      "columns those of the source; within an encoder both are the pieces of the source; within a decoder, and of a text, rows are the "
      "pieces produced and columns what stands before them (· goes on with a word, <s> is the start, </s> the end). The darker a cell (on "
      "a dark screen: the lighter), the more "
      "attention it has. "
      "Point at a cell for its weight, choose a layer or a head beside or below the map. The small number of a head is its entropy, the "
      "mean "
      "over the rows of −Σ α log2 α: 0 bits where every piece looks at one piece alone, the more the wider it looks.");
  for (size_t i = 0; i < examples.size(); ++i) {
    check_maps(examples[i], i + 1);
    page.markup(section(examples[i], examples[i].number > 0 ? examples[i].number : static_cast<int64_t>(i) + 1));
  }
  page.markup(fmt::format("<script>const jumokRamps={};\n{}</script>\n", ramps(), attention_script()));
  return page.html();
}

}  // namespace jumok
