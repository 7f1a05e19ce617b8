// The report of jumok lab explain: a section for each attention, a table for each head, the heads' maps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/explain.h"
#include "report/heat_map.h"
#include "translate/piece_label.h"

namespace jumok {
namespace {

// The first numbers of a vector, how many there are, and its norm.
std::string vector_text(const std::string& name, const std::vector<float>& v) {
  constexpr size_t kShown = 6;
  double square = 0;
  std::string numbers;
  for (size_t i = 0; i < v.size(); ++i) {
    square += static_cast<double>(v[i]) * v[i];
    if (i < kShown) numbers += fmt::format("{}{:.3f}", i == 0 ? "" : ", ", v[i]);
  }
  return fmt::format("{} = ({}{}), {} numbers, norm {:.3f}", name, numbers, v.size() > kShown ? ", …" : "", v.size(), std::sqrt(square));
}

std::string score_text(double e) { return std::isinf(e) ? "blocked" : fmt::format("{:.3f}", e); }

std::string change_text(float change) { return std::abs(change) < 0.0005f ? "0.000" : fmt::format("{:+.3f}", change); }

LabTable table_of(const ExplainedQuery& q) {
  LabTable t{"", {"key", "score e", "weight α"}, {}};
  for (size_t j = 0; j < q.keys.size(); ++j)
    t.rows.push_back({piece_label(q.keys[j]), score_text(q.scores[j]), fmt::format("{:.3f}", q.weights[j])});
  return t;
}

// The same query in two sentences: keys by position, since the sentences are meant to differ in a word or two.
LabTable table_of(const ExplainedQuery& a, const ExplainedQuery& b) {
  LabTable t{"", {"key", "score e", "weight α", "key ", "score e ", "weight α ", "change of α"}, {}};
  for (size_t j = 0; j < std::max(a.keys.size(), b.keys.size()); ++j) {
    const bool in_a = j < a.keys.size(), in_b = j < b.keys.size();
    t.rows.push_back({in_a ? piece_label(a.keys[j]) : "", in_a ? score_text(a.scores[j]) : "",
                      in_a ? fmt::format("{:.3f}", a.weights[j]) : "", in_b ? piece_label(b.keys[j]) : "",
                      in_b ? score_text(b.scores[j]) : "", in_b ? fmt::format("{:.3f}", b.weights[j]) : "",
                      in_a && in_b ? change_text(b.weights[j] - a.weights[j]) : ""});
  }
  return t;
}

// `mark`: which of two sentences, behind the names of its vectors.
void add_steps(const ExplainedQuery& q, const std::string& mark, std::vector<std::string>& texts) {
  texts.push_back(fmt::format("Query{} \"{}\": {}.", mark, piece_label(q.symbol), vector_text("q" + mark, q.query)));
  if (q.centre) texts.back() += fmt::format(" Predicted centre p{} = {:.2f}, counted from 0.", mark, *q.centre);
  texts.push_back(fmt::format("Allowed{}: {}.", mark, q.allowed));
  texts.push_back(fmt::format("Mix: {}.", vector_text("c" + mark, q.mixed)));
  if (!q.output.empty() && q.head == q.heads - 1)
    texts.push_back(fmt::format("All heads: {}.", vector_text("W_O [c_1; …] + b" + mark, q.output)));
}

const ExplainedQuery* partner(const ExplainResult& r, const ExplainedQuery& q) {
  if (r.queries.size() < 2) return nullptr;
  for (const ExplainedQuery& other : r.queries[1]) {
    if (other.attention == q.attention && other.head == q.head) return &other;
  }
  return nullptr;
}

std::string name_of(const ExplainedQuery& q) {
  return q.heads == 1 ? q.attention : fmt::format("{}, head {} of {}", q.attention, q.head, q.heads);
}

void add_maps(const ExplainResult& r, const ExplainedQuery& q, LabSection& section) {
  for (const ExplainedSentence& s : r.sentences) {
    for (const AttentionMaps::Map& map : s.maps) {
      if (map.name != q.attention) continue;
      AttentionAxes axes = axes_of(s, map);
      for (auto* symbols : {&axes.rows, &axes.columns}) std::transform(symbols->begin(), symbols->end(), symbols->begin(), piece_label);
      section.figures.push_back(
          {heat_map_svg({axes.rows, axes.columns, map.weights[static_cast<size_t>(q.head)], s.source}), "", r.sentences.size() > 1});
    }
  }
}

LabSection section_of(const ExplainResult& r, const ExplainedQuery& q) {
  LabSection s{name_of(q), fmt::format("{}", fmt::join(q.formulas, "\n")), {}, {}, {}};
  const ExplainedQuery* other = partner(r, q);
  add_steps(q, other != nullptr ? " (1)" : "", s.texts);
  if (other != nullptr) add_steps(*other, " (2)", s.texts);
  s.tables.push_back(other != nullptr ? table_of(q, *other) : table_of(q));
  add_maps(r, q, s);
  return s;
}

}  // namespace

LabReport report_of(const ExplainResult& r) {
  LabReport report{"How the model attends, step by step", "", {}};
  for (const ExplainedSentence& s : r.sentences)
    report.question += fmt::format("{}\"{}\"{}", report.question.empty() ? "" : "; ", s.source,
                                   s.target.empty() ? "" : fmt::format(" → \"{}\"", s.target));
  for (const ExplainedQuery& q : r.queries.front()) report.sections.push_back(section_of(r, q));
  return report;
}

nlohmann::ordered_json to_json(const ExplainResult& r) {
  nlohmann::ordered_json sentences = nlohmann::ordered_json::array();
  for (size_t i = 0; i < r.sentences.size(); ++i) {
    nlohmann::ordered_json queries = nlohmann::ordered_json::array();
    for (const ExplainedQuery& q : r.queries[i]) {
      nlohmann::ordered_json scores = nlohmann::ordered_json::array();
      for (const double e : q.scores)
        scores.push_back(std::isinf(e) ? nlohmann::ordered_json() : nlohmann::ordered_json(e));  // null: blocked
      queries.push_back({{"attention", q.attention},
                         {"head", q.head},
                         {"formulas", q.formulas},
                         {"query_symbol", q.symbol},
                         {"allowed", q.allowed},
                         {"keys", q.keys},
                         {"query", q.query},
                         {"scores", scores},
                         {"weights", q.weights},
                         {"mixed", q.mixed},
                         {"output", q.output}});
      if (q.centre) queries.back().update({{"centre", *q.centre}, {"sigma", q.sigma}});
    }
    sentences.push_back({{"source", r.sentences[i].source}, {"target", r.sentences[i].target}, {"queries", queries}});
  }
  return {{"experiment", "explain"}, {"sentences", sentences}};
}

}  // namespace jumok
