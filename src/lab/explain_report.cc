// The report of jumok lab explain: a section for each attention, a table for each head, the heads' maps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

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

// Places (i, j) of a longest common subsequence, rising: the words that two sentences share, each in its place among them. What the ends
// share is paired beforehand, so the table of lengths is as large as the difference.
std::vector<std::pair<size_t, size_t>> common_places(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  constexpr size_t kMostCells = size_t{1} << 24;  // of the table; what differs more is left without partners
  size_t begin = 0, end_a = a.size(), end_b = b.size();
  while (begin < std::min(end_a, end_b) && a[begin] == b[begin]) ++begin;
  while (std::min(end_a, end_b) > begin && a[end_a - 1] == b[end_b - 1]) --end_a, --end_b;
  const size_t n = end_a - begin, m = end_b - begin;
  std::vector<std::pair<size_t, size_t>> places;
  for (size_t i = 0; i < begin; ++i) places.emplace_back(i, i);
  if (n * m <= kMostCells) {
    std::vector<uint16_t> longest((n + 1) * (m + 1));  // of what begins at i and j
    const auto at = [&](size_t i, size_t j) -> uint16_t& { return longest[i * (m + 1) + j]; };
    const auto same = [&](size_t i, size_t j) { return a[begin + i] == b[begin + j]; };
    for (size_t i = n; i-- > 0;) {
      for (size_t j = m; j-- > 0;)
        at(i, j) = same(i, j) ? static_cast<uint16_t>(at(i + 1, j + 1) + 1) : std::max(at(i + 1, j), at(i, j + 1));
    }
    for (size_t i = 0, j = 0; i < n && j < m;) {
      if (same(i, j)) {
        places.emplace_back(begin + i++, begin + j++);
      } else {
        ++(at(i + 1, j) >= at(i, j + 1) ? i : j);
      }
    }
  }
  for (size_t i = end_a; i < a.size(); ++i) places.emplace_back(i, end_b + (i - end_a));
  return places;
}

std::vector<std::string> key_cells(const ExplainedQuery& q, size_t j, bool there) {
  if (!there) return {"", "", ""};
  return {piece_label(q.keys[j]), score_text(q.scores[j]), fmt::format("{:.3f}", q.weights[j])};
}

// The same query in two sentences. The keys they share stand in one row, with the change of the weight; between those what differs, side by
// side without one: another word's weight is no change.
LabTable table_of(const ExplainedQuery& a, const ExplainedQuery& b) {
  LabTable t{"", {"key", "score e", "weight α", "key ", "score e ", "weight α ", "change of α"}, {}};
  const auto add = [&](size_t i, bool in_a, size_t j, bool in_b, const std::string& change) {
    t.rows.push_back(key_cells(a, i, in_a));
    const std::vector<std::string> second = key_cells(b, j, in_b);
    t.rows.back().insert(t.rows.back().end(), second.begin(), second.end());
    t.rows.back().push_back(change);
  };
  std::vector<std::pair<size_t, size_t>> common = common_places(a.keys, b.keys);
  common.emplace_back(a.keys.size(), b.keys.size());
  size_t i = 0, j = 0;
  for (const auto& [shared_a, shared_b] : common) {
    for (; i < shared_a || j < shared_b; i = std::min(i + 1, shared_a), j = std::min(j + 1, shared_b))
      add(i, i < shared_a, j, j < shared_b, "");
    if (i < a.keys.size() && j < b.keys.size()) add(i, true, j, true, change_text(b.weights[j] - a.weights[i]));
    ++i, ++j;
  }
  return t;
}

// `mark`: which of two sentences, behind the names of its vectors. `last`: of the heads shown; what comes of all heads stands there.
void add_steps(const ExplainedQuery& q, const std::string& mark, bool last, std::vector<std::string>& texts) {
  texts.push_back(fmt::format("Query{} \"{}\": {}.", mark, piece_label(q.symbol), vector_text("q" + mark, q.query)));
  if (q.centre) texts.back() += fmt::format(" Predicted centre p{} = {:.2f}, counted from 0.", mark, *q.centre);
  texts.push_back(fmt::format("Allowed{}: {}.", mark, q.allowed));
  texts.push_back(fmt::format("Mix: {}.", vector_text("c" + mark, q.mixed)));
  if (!last) return;
  if (!q.output.empty()) texts.push_back(fmt::format("All heads: {}.", vector_text(q.output_name + mark, q.output)));
  if (!q.readout.empty()) texts.push_back(fmt::format("To the output layer: {}.", vector_text(q.readout_name + mark, q.readout)));
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
  for (size_t i = 0; i < r.sentences.size(); ++i) {
    const ExplainedSentence& s = r.sentences[i];
    const ExplainedQuery* const own = i == 0 ? &q : partner(r, q);
    for (const AttentionMaps::Map& map : s.maps) {
      if (map.name != q.attention) continue;
      AttentionAxes axes = axes_of(s, map);
      for (auto* symbols : {&axes.rows, &axes.columns}) std::transform(symbols->begin(), symbols->end(), symbols->begin(), piece_label);
      HeatMap picture{axes.rows, axes.columns, map.weights[static_cast<size_t>(q.head)], s.source};
      if (own != nullptr) picture.marked = own->row;
      section.figures.push_back(
          {heat_map_svg(picture), own == nullptr ? "" : "Framed: the query that is followed.", r.sentences.size() > 1});
    }
  }
}

LabSection section_of(const ExplainResult& r, const ExplainedQuery& q) {
  LabSection s{name_of(q), fmt::format("{}", fmt::join(q.formulas, "\n")), {}, {}, {}};
  const ExplainedQuery* other = partner(r, q);
  const bool last = q.head == (r.head >= 0 ? r.head : q.heads - 1);
  add_steps(q, other != nullptr ? " (1)" : "", last, s.texts);
  if (other != nullptr) add_steps(*other, " (2)", last, s.texts);
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
                         {"output", q.output},
                         {"readout", q.readout}});
      if (q.centre) queries.back().update({{"centre", *q.centre}, {"sigma", q.sigma}});
    }
    sentences.push_back({{"source", r.sentences[i].source}, {"target", r.sentences[i].target}, {"queries", queries}});
  }
  return {{"experiment", "explain"}, {"sentences", sentences}};
}

}  // namespace jumok
