#include "lab/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "jumok/metrics.h"
#include "report/curves.h"
#include "text/unicode.h"

namespace jumok {
namespace {

// Training lengths spread from 1 to the greatest, tests at each length alone.
LabText text_of(const BottleneckOptions& o, Task task) {
  const std::vector<int>& lengths = o.lengths;
  LabText text = task_text({task, 1, *std::max_element(lengths.begin(), lengths.end()), o.run.seed, false}, o.training_pairs, 1);
  text.test_source.clear();
  text.test_target.clear();
  text.gold.clear();
  for (const int n : lengths) {
    for (const TaskPair& p : make_task({task, n, n, o.run.seed, true}, o.test_pairs)) {
      text.test_source.push_back(p.source);
      text.test_target.push_back(p.target);
    }
  }
  return text;
}

std::vector<std::pair<int, int>> ranges_of(const BottleneckOptions& o, const LabText& text) {
  constexpr int kRanges = 5;
  std::vector<std::pair<int, int>> ranges;
  if (!o.files.given()) {
    for (const int n : o.lengths) ranges.push_back({n, n});
    return ranges;
  }
  std::vector<int> words;
  for (const std::string& line : text.test_source) words.push_back(static_cast<int>(split_words(line).size()));
  int from = 1;
  for (const int edge : o.bins.empty() ? even_bins(words, kRanges) : o.bins) ranges.push_back({from, edge}), from = edge + 1;
  ranges.push_back({from, std::numeric_limits<int>::max()});
  return ranges;
}

TrainingBudget budget_of(const BottleneckOptions& o, int longest) {
  TrainingBudget b = o.budget();
  if (longest >= 256) b.settings.push_back(fmt::format("train.max-length={}", longest + 1));
  return b;
}

std::string range_name(const LengthPoint& p) {
  if (p.shortest == p.longest) return std::to_string(p.longest);
  return p.longest == std::numeric_limits<int>::max() ? fmt::format("{} up", p.shortest) : fmt::format("{} – {}", p.shortest, p.longest);
}

double value_of(const LengthPoint& p, bool own_text) { return own_text ? p.bleu : 100 * p.exact; }

LabTable table(const BottleneckPart& part, const char* caption, double (*value)(const LengthPoint&)) {
  LabTable t{caption, {"source words", "lines"}, {}};
  for (const BottleneckRow& row : part.rows) t.header.push_back(row.trained.contender.name);
  for (size_t i = 0; i < part.rows.front().points.size(); ++i) {
    const LengthPoint& first = part.rows.front().points[i];
    if (first.lines == 0) continue;
    t.rows.push_back({range_name(first), std::to_string(first.lines)});
    for (const BottleneckRow& row : part.rows) t.rows.back().push_back(fmt::format("{:.1f}", value(row.points[i])));
  }
  return t;
}

LabSection section(const BottleneckPart& part, bool own_text) {
  LabSection s{part.text, "", {}, {}, {}};
  if (own_text) {
    s.tables.push_back(table(part, "BLEU of the test lines of that length.", [](const LengthPoint& p) { return p.bleu; }));
  } else {
    s.tables.push_back(table(part, "Outputs without any mistake, in percent.", [](const LengthPoint& p) { return 100 * p.exact; }));
    s.tables.push_back(table(part, "Symbols at their place, in percent.", [](const LengthPoint& p) { return 100 * p.symbols; }));
  }
  std::vector<Series> lines;
  for (const BottleneckRow& row : part.rows) {
    lines.push_back({row.trained.contender.name, {}, {}});
    for (const LengthPoint& p : row.points) {
      if (p.lines == 0) continue;
      lines.back().x.push_back(p.words);
      lines.back().y.push_back(value_of(p, own_text));
    }
  }
  s.figures.push_back({curves_svg({.title = "Quality against length: " + part.text,
                                   .x_label = own_text ? "source words, mean of each range" : "source words",
                                   .y_label = own_text ? "BLEU" : "percent without mistake",
                                   .y_from_zero = true},
                                  lines),
                       ""});
  return s;
}

}  // namespace

std::vector<Contender> bottleneck_contenders() {
  return {{"no attention", "rnn-none", {}},
          {"bahdanau", "rnn-bahdanau", {}},
          {"luong general", "rnn-luong-general", {}},
          {"transformer", "transformer-tiny", {}}};
}

std::vector<int> even_bins(std::vector<int> lengths, int count) {
  std::erase(lengths, 0);
  std::sort(lengths.begin(), lengths.end());
  std::vector<int> ends;
  for (int i = 1; i < count && !lengths.empty(); ++i) {
    const auto n = static_cast<size_t>(count);
    const int end = lengths[(lengths.size() * static_cast<size_t>(i) + n - 1) / n - 1];  // the first i / count of the lines
    if ((ends.empty() || end > ends.back()) && end < lengths.back()) ends.push_back(end);
  }
  return ends;
}

double words_in_place(const std::string& output, const std::string& reference) {
  const auto a = split_words(output), b = split_words(reference);
  if (b.empty()) return a.empty() ? 1 : 0;
  size_t same = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) same += a[i] == b[i] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(b.size());
}

LengthPoint quality_at(const LabText& text, const std::vector<std::string>& outputs, int shortest, int longest) {
  LengthPoint p{shortest, longest};
  std::vector<std::string> chosen, references;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto n = static_cast<int>(split_words(text.test_source[i]).size());
    if (n < shortest || n > longest) continue;
    chosen.push_back(outputs[i]);
    references.push_back(text.test_target[i]);
    p.words += n;
    p.exact += outputs[i] == references.back() ? 1 : 0;
    p.symbols += words_in_place(outputs[i], references.back());
  }
  p.lines = static_cast<int>(chosen.size());
  if (p.lines == 0) return p;
  p.words /= p.lines;
  p.exact /= p.lines;
  p.symbols /= p.lines;
  p.bleu = bleu(chosen, references).score;
  return p;
}

void check_options(const BottleneckOptions& o) {
  check_files(o.files);
  check(o.files.given() || (!o.lengths.empty() && *std::min_element(o.lengths.begin(), o.lengths.end()) >= 1),
        "bottleneck: expected lengths of 1 or more");
  check(std::adjacent_find(o.bins.begin(), o.bins.end(), std::greater_equal<>()) == o.bins.end(),
        "bottleneck: expected ranges that rise, found {}", fmt::join(o.bins, ","));
  check_contenders(choose_contenders(bottleneck_contenders(), o.only), o.budget());
}

BottleneckResult run_bottleneck(const BottleneckOptions& o) {
  check_options(o);
  std::vector<LabText> texts;
  if (o.files.given()) {
    texts.push_back(file_text(o.files, 0));
  } else {
    for (const Task task : o.tasks) texts.push_back(text_of(o, task));
  }
  const auto ranges = ranges_of(o, texts.front());
  int longest = 0;
  for (const auto& range : ranges) longest = std::max(longest, range.second);
  const TrainingBudget budget = budget_of(o, o.files.given() ? 0 : longest);
  BottleneckResult r{o.files.given(), budget.width, {}};
  const std::vector<Contender> contenders = choose_contenders(bottleneck_contenders(), o.only);
  const double share = 1.0 / static_cast<double>(contenders.size() * texts.size());
  double begin = 0;
  for (const LabText& text : texts) {
    const TrainingGround ground(text, budget, o.run);
    BottleneckPart part{text.name, {}};
    for (const Contender& c : contenders) {
      BottleneckRow row{ground.train(c, begin, begin + 0.95 * share), {}};
      begin += share;
      const Quality q = judge(row.trained.model, text, o.run.threads);
      for (const auto& [shortest, longest] : ranges) row.points.push_back(quality_at(text, q.outputs, shortest, longest));
      part.rows.push_back(std::move(row));
    }
    r.parts.push_back(std::move(part));
  }
  return r;
}

LabReport report_of(const BottleneckResult& r) {
  LabReport report{"The bottleneck of one vector",
                   "Without attention everything the decoder knows of the source is the encoder's last state. How does quality change with "
                   "the length of "
                   "the source, with attention and without, on the same data and budget?",
                   {}};
  for (const BottleneckPart& part : r.parts) report.sections.push_back(section(part, r.own_text));
  LabSection cost{"Cost", "", {}, {}, {}};
  LabTable t{"", {"text", "mechanism", "parameters", "target symbols/s", "seconds"}, {}};
  for (const BottleneckPart& part : r.parts) {
    for (const BottleneckRow& row : part.rows) {
      t.rows.push_back({part.text, row.trained.contender.name, std::to_string(row.trained.parameters),
                        fmt::format("{:.0f}", row.trained.tokens_per_second), fmt::format("{:.1f}", row.trained.seconds)});
    }
  }
  cost.tables.push_back(t);
  report.sections.push_back(cost);
  return report;
}

nlohmann::ordered_json to_json(const BottleneckResult& r) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const BottleneckPart& part : r.parts) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const BottleneckRow& row : part.rows) {
      nlohmann::ordered_json points = nlohmann::ordered_json::array();
      for (const LengthPoint& p : row.points) {
        points.push_back({{"words", range_name(p)},
                          {"lines", p.lines},
                          {"mean_words", p.words},
                          {"bleu", p.bleu},
                          {"exact", p.exact},
                          {"symbols", p.symbols}});
      }
      rows.push_back({{"mechanism", row.trained.contender.name},
                      {"parameters", row.trained.parameters},
                      {"tokens_per_second", row.trained.tokens_per_second},
                      {"seconds", row.trained.seconds},
                      {"points", points}});
    }
    parts.push_back({{"text", part.text}, {"mechanisms", rows}});
  }
  return {{"experiment", "bottleneck"}, {"width", r.width}, {"parts", parts}};
}

}  // namespace jumok
