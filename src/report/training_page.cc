#include "report/training_page.h"

#include <fmt/format.h>

#include <cmath>

#include "report/curves.h"
#include "report/page.h"
#include "report/svg.h"

namespace jumok {
namespace {

template <typename Point>
Series series_of(std::string name, const std::vector<Point>& points, double Point::*x, double Point::*y, double x_scale) {
  Series series{std::move(name), {}, {}};
  for (const Point& point : points) {
    series.x.push_back(point.*x * x_scale);
    series.y.push_back(point.*y);
  }
  return series;
}

// Only what was measured at least once.
std::vector<Series> measured(std::vector<Series> all) {
  std::erase_if(all, [](const Series& s) {
    for (const double y : s.y) {
      if (std::isfinite(y)) return false;
    }
    return true;
  });
  return all;
}

void figure(Page& page, const CurveAxes& axes, std::vector<Series> all, std::string_view caption) {
  const auto series = measured(std::move(all));
  if (!series.empty()) page.figure(curves_svg(axes, series), caption);
}

std::string fixed(double value, int digits) { return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "–"; }

std::string clock(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  const auto whole = static_cast<long long>(seconds + 0.5);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

void validations(Page& page, const std::vector<ValidationPoint>& points) {
  if (points.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const auto& p : points) {
    rows.push_back(
        {fixed(p.update, 0), clock(p.seconds), fixed(p.loss, 3), fixed(std::exp(p.loss), 2), fixed(p.bleu, 1), fixed(p.chrf, 1)});
  }
  page.heading("Validations").table({"update", "time", "loss", "perplexity", "BLEU", "chrF"}, rows);
}

// The longest unit in which the run is at least two long.
std::pair<double, const char*> time_unit(const TrainingCurves& curves) {
  double longest = 0;
  for (const auto& p : curves.training) longest = std::fmax(longest, p.seconds);
  for (const auto& p : curves.validation) longest = std::fmax(longest, p.seconds);
  if (longest >= 7200) return {1.0 / 3600, "hours"};
  if (longest >= 120) return {1.0 / 60, "minutes"};
  return {1.0, "seconds"};
}

}  // namespace

std::string training_page(const TrainingCurves& curves) {
  using T = TrainingPoint;
  using V = ValidationPoint;
  Page page(curves.title);
  if (!curves.facts.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, value] : curves.facts) rows.push_back({name, value});
    page.table({"", ""}, rows);
  }
  const auto [scale, unit] = time_unit(curves);
  page.heading("Loss");
  figure(page, {.title = "Loss over updates", .x_label = "updates", .y_label = "nats per token"},
         {series_of("training", curves.training, &T::update, &T::loss, 1),
          series_of("validation", curves.validation, &V::update, &V::loss, 1)},
         "Training loss is measured with dropout, validation loss without; neither with label smoothing.");
  figure(page, {.title = "Loss over time", .x_label = unit, .y_label = "nats per token"},
         {series_of("training", curves.training, &T::seconds, &T::loss, scale),
          series_of("validation", curves.validation, &V::seconds, &V::loss, scale)},
         "");
  if (!curves.validation.empty()) page.heading("Quality");
  figure(page, {.title = "BLEU and chrF over updates", .x_label = "updates", .y_label = "score", .y_from_zero = true},
         {series_of("BLEU", curves.validation, &V::update, &V::bleu, 1), series_of("chrF", curves.validation, &V::update, &V::chrf, 1)},
         "");
  figure(page, {.title = "BLEU and chrF over time", .x_label = unit, .y_label = "score", .y_from_zero = true},
         {series_of("BLEU", curves.validation, &V::seconds, &V::bleu, scale),
          series_of("chrF", curves.validation, &V::seconds, &V::chrf, scale)},
         "");
  if (!curves.training.empty()) page.heading("Speed and learning rate");
  figure(page, {.title = "Tokens per second", .x_label = "updates", .y_label = "target tokens per second", .y_from_zero = true},
         {series_of("tokens/s", curves.training, &T::update, &T::tokens_per_second, 1)}, "");
  figure(page, {.title = "Learning rate", .x_label = "updates", .y_label = "learning rate", .y_from_zero = true},
         {series_of("rate", curves.training, &T::update, &T::learning_rate, 1)}, "");
  validations(page, curves.validation);
  return page.html();
}

}  // namespace jumok
