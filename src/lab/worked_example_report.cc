// The worked example as tables and pictures.
#include <fmt/format.h>

#include <cmath>

#include "lab/worked_example.h"
#include "report/arrows.h"
#include "report/heat_map.h"

namespace jumok {
namespace {

std::string number(double x) { return std::isnan(x) ? "–" : std::isinf(x) ? "not allowed" : fmt::format("{:.3f}", x); }

std::string vector_text(const std::vector<double>& v) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < v.size() && i < kShown; ++i) text += (i > 0 ? ", " : "") + fmt::format("{:.3f}", v[i]);
  return "(" + text + (v.size() > kShown ? ", …)" : ")");
}

std::vector<std::string> names(const WorkedExample& e, const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (const int n : numbers) words.push_back(e.words[static_cast<size_t>(n)]);
  return words;
}

LabSection projections(const WorkedExampleResult& r) {
  LabSection s{"Embeddings, queries, keys, values", "q = W_Q x     k = W_K x     v = W_V x", {}, {}, {}};
  LabTable t{"", {"word", "as", "embedding x", "projected"}, {}};
  const auto add = [&](const std::vector<int>& numbers, const Vectors& rows, const char* as) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto n = static_cast<size_t>(numbers[i]);
      t.rows.push_back({r.input.words[n], as, vector_text(r.input.embeddings[n]), vector_text(rows[i])});
    }
  };
  add(r.input.queries, r.q, "query");
  add(r.input.keys, r.k, "key");
  add(r.input.keys, r.v, "value");
  s.tables.push_back(t);
  return s;
}

LabSection weights(const WorkedExampleResult& r) {
  LabSection s{"From scores to weights", "e_j = q·k_j     α = softmax(scale · e)     c = Σ_j α_j v_j", {}, {}, {}};
  const std::string scale =
      r.input.scale ? fmt::format("{:.4g}", *r.input.scale) : fmt::format("1/√{} = {:.3f}", r.q[0].size(), 1 / std::sqrt(r.q[0].size()));
  for (size_t i = 0; i < r.q.size(); ++i) {
    LabTable t{fmt::format("\"{}\" asks; scale {}.", r.input.words[static_cast<size_t>(r.input.queries[i])], scale),
               {"key", "cosine of embeddings", "q·k", "scaled", "weight", "weight without the scale"},
               {}};
    for (size_t j = 0; j < r.k.size(); ++j) {
      t.rows.push_back({r.input.words[static_cast<size_t>(r.input.keys[j])], number(r.embedding_cosines[i][j]), number(r.scores[i][j]),
                        number(r.scaled_scores[i][j]), number(r.weights[i][j]), number(r.unscaled_weights[i][j])});
    }
    s.tables.push_back(t);
  }
  HeatMap map{names(r.input, r.input.queries), names(r.input, r.input.keys), {}, "Weights"};
  for (const auto& row : r.weights) map.weights.insert(map.weights.end(), row.begin(), row.end());
  s.figures.push_back({heat_map_svg(map), "Down: who asks. Across: who answers."});
  return s;
}

LabSection contexts(const WorkedExampleResult& r) {
  LabSection s{"The context", "", {}, {}, {}};
  LabTable t{"Cosine of each key's embedding with the query's own embedding, and with the context that replaces it.",
             {"query", "context", "key", "before", "after"},
             {}};
  for (size_t i = 0; i < r.context.size(); ++i) {
    for (size_t j = 0; j < r.k.size(); ++j) {
      t.rows.push_back({r.input.words[static_cast<size_t>(r.input.queries[i])], vector_text(r.context[i]),
                        r.input.words[static_cast<size_t>(r.input.keys[j])], number(r.embedding_cosines[i][j]),
                        r.context_cosines.empty() ? "–" : number(r.context_cosines[i][j])});
    }
  }
  s.tables.push_back(t);
  if (r.input.embeddings[0].size() != 2 || r.context[0].size() != 2) return s;
  std::vector<Arrow> arrows;
  for (size_t w = 0; w < r.input.words.size(); ++w)
    arrows.push_back({r.input.words[w], r.input.embeddings[w][0], r.input.embeddings[w][1], 0});
  for (size_t i = 0; i < r.context.size(); ++i) {
    arrows.push_back({"context of " + r.input.words[static_cast<size_t>(r.input.queries[i])], r.context[i][0], r.context[i][1], 1});
  }
  s.figures.push_back({arrows_svg("Where the context points", {"embedding", "context"}, arrows), "", true});
  if (r.q[0].size() != 2) return s;
  arrows.clear();
  for (size_t i = 0; i < r.q.size(); ++i)
    arrows.push_back({"q of " + r.input.words[static_cast<size_t>(r.input.queries[i])], r.q[i][0], r.q[i][1], 1});
  for (size_t j = 0; j < r.k.size(); ++j)
    arrows.push_back({"k of " + r.input.words[static_cast<size_t>(r.input.keys[j])], r.k[j][0], r.k[j][1], 2});
  s.figures.push_back({arrows_svg("Queries and keys", {"", "query", "key"}, arrows), "", true});
  return s;
}

LabSection asking(const WorkedExampleResult& r) {
  LabSection s{"Asking and answering are different roles", "", {}, {}, {}};
  s.texts.push_back(
      "The score of row and column: what the row's word asks, q = W_Q x, against what the column's word answers with, k = W_K x. As "
      "far as W_Q and W_K differ, the table is not symmetric.");
  LabTable t{"q(row)·k(column), without the scale.", {"asks ↓  answers →"}, {}};
  for (const std::string& word : r.input.words) t.header.push_back(word);
  for (size_t i = 0; i < r.pair_scores.size(); ++i) {
    t.rows.push_back({r.input.words[i]});
    for (const double x : r.pair_scores[i]) t.rows.back().push_back(number(x));
  }
  s.tables.push_back(t);
  return s;
}

// Worked out by hand from the default's embeddings and matrices.
LabSection expected(const WorkedExampleResult& r) {
  LabSection s{"Against the values worked out by hand", "", {}, {}, {}};
  LabTable t{"", {"quantity", "here", "by hand"}, {}};
  const auto add = [&](const char* what, double here, const char* by_hand) { t.rows.push_back({what, number(here), by_hand}); };
  add("cosine it, cat", r.embedding_cosines[0][0], "0.949");
  add("cosine it, car", r.embedding_cosines[0][1], "0.838");
  add("score of cat", r.scores[0][0], "1.584");
  add("score of car", r.scores[0][1], "-0.318");
  add("scaled, cat", r.scaled_scores[0][0], "1.120");
  add("scaled, car", r.scaled_scores[0][1], "-0.225");
  add("weight of cat", r.weights[0][0], "0.793");
  add("weight of car", r.weights[0][1], "0.207");
  add("weight of cat without the scale", r.unscaled_weights[0][0], "0.870");
  add("weight of car without the scale", r.unscaled_weights[0][1], "0.130");
  add("context, first", r.context[0][0], "0.676");
  add("context, second", r.context[0][1], "0.514");
  add("cosine context, cat", r.context_cosines[0][0], "0.983");
  add("q(it)·k(cat)", r.pair_scores[0][1], "1.584");
  add("q(cat)·k(it)", r.pair_scores[1][0], "1.728");
  s.tables.push_back(t);
  return s;
}

bool is_default(const WorkedExample& e) {
  const WorkedExample d = default_worked_example();
  return e.words == d.words && e.embeddings == d.embeddings && e.queries == d.queries && e.keys == d.keys &&
         e.query_matrix == d.query_matrix && e.key_matrix == d.key_matrix && e.value_matrix == d.value_matrix && !e.scale &&
         e.allowed.empty();
}

}  // namespace

LabReport report_of(const WorkedExampleResult& r) {
  LabReport report{
      "Attention by hand", "Which words does a word attend to, and what does it become? Every number from embedding to context.", {}};
  report.sections = {projections(r), weights(r), contexts(r), asking(r)};
  if (is_default(r.input)) report.sections.push_back(expected(r));
  return report;
}

}  // namespace jumok
