// One HTML file that holds everything it shows: no network, no fonts, no scripts from elsewhere; light and dark, on screen and paper.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jumok {

// Builds a page from the top down. All text is plain and escaped here; only `figure` takes markup (a picture of this folder).
class Page {
 public:
  explicit Page(std::string title);

  Page& heading(std::string_view text);  // a section
  Page& subheading(std::string_view text);
  Page& paragraph(std::string_view text);
  Page& formula(std::string_view text);  // set off, fixed-width, line breaks kept
  // Every row as long as the header. Columns whose cells are all numbers (or empty, –) are set right-aligned with tabular figures.
  Page& table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows, std::string_view caption = {});
  Page& figure(std::string_view svg, std::string_view caption = {});  // scrolls sideways where it is wider than the page

  std::string html() const;  // the complete file

 private:
  std::string title_, body_;
};

// What one sentence attended to, in every layer and head.
struct AttentionExample {
  std::string source, output, reference, note;  // whole sentences; an empty one is left out
  std::vector<std::string> rows, columns;       // T target tokens, S source tokens
  int layers = 1, heads = 1;
  std::vector<std::vector<float>> maps;  // layers × heads of them (layer · heads + head), each [T, S] row-major
};

// For each sentence its texts, a large map (the mean over all heads at first) and a small one per head to choose from by click or key.
std::string attention_page(std::string_view title, std::span<const AttentionExample> examples);

struct TrainingPoint {
  double update = 0, seconds = 0;  // since the start
  double loss = 0;                 // nats per target token
  double tokens_per_second = 0, learning_rate = 0;
};

struct ValidationPoint {
  double update = 0, seconds = 0;
  double loss = 0, bleu = 0, chrf = 0;  // NaN where it was not measured; BLEU and chrF from 0 to 100
};

struct TrainingCurves {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // shown as a table: model, parameters, data, …
  std::vector<TrainingPoint> training;
  std::vector<ValidationPoint> validation;
};

// Loss, quality and speed over updates and over time, and a table of the validations.
std::string training_page(const TrainingCurves& curves);

}  // namespace jumok
