#include "lab/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/rng.h"
#include "base/workers.h"
#include "jumok/attention.h"
#include "lab/trained_report.h"
#include "models/model_files.h"
#include "report/curves.h"

namespace jumok {
namespace {

constexpr int kChunk = 50;  // draws with one random stream; a chunk's numbers depend on nothing but its own number

struct Sums {
  double score_squares = 0;
  SoftmaxShape plain, scaled;
};

void add(SoftmaxShape& sum, const float* p, int keys) {
  double largest = 0;
  for (int j = 0; j < keys; ++j) {
    const double x = p[j];
    largest = std::max(largest, x);
    sum.gradient += x * (1 - x);
    if (x > 0) sum.entropy -= x * std::log2(x);
  }
  sum.largest_weight += largest;
  sum.saturated += largest > 0.99 ? 1 : 0;
}

void add(SoftmaxShape& sum, const SoftmaxShape& part) {
  sum.largest_weight += part.largest_weight;
  sum.saturated += part.saturated;
  sum.gradient += part.gradient;
  sum.entropy += part.entropy;
}

SoftmaxShape mean(const SoftmaxShape& sum, double n) {
  return {sum.largest_weight / n, sum.saturated / n, sum.gradient / n, sum.entropy / n};
}

// One query of each draw, `keys` keys: the draws are the sentences of one call.
Sums draw_chunk(int width, int keys, int draws, uint64_t key) {
  Rng rng(key);
  const auto normals = [&rng](int64_t n) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float& v : x) v = static_cast<float>(rng.normal());
    return x;
  };
  const auto q = normals(static_cast<int64_t>(draws) * width), k = normals(static_cast<int64_t>(draws) * keys * width);
  std::vector<float> p(static_cast<size_t>(draws) * keys);
  attention::Problem problem;
  problem.q = attention::dense(q.data(), draws, 1, 1, width);
  problem.k = problem.v = attention::dense(k.data(), draws, 1, keys, width);
  const attention::View out = attention::dense(p.data(), draws, 1, 1, keys);
  Sums sums;
  const auto collect = [&](SoftmaxShape& shape) {
    attention::weights(problem, out);
    for (int i = 0; i < draws; ++i) add(shape, p.data() + static_cast<int64_t>(i) * keys, keys);
  };
  collect(sums.scaled);
  problem.scale = 1;
  collect(sums.plain);
  attention::scores(problem, out);
  for (const float e : p) sums.score_squares += static_cast<double>(e) * e;
  return sums;
}

ScaleRow draw_row(int width, int keys, int64_t chunks, uint64_t seed, Workers& workers) {
  std::vector<Sums> parts(static_cast<size_t>(chunks));
  workers.run(static_cast<int>(chunks),
              [&](int c, int) { parts[static_cast<size_t>(c)] = draw_chunk(width, keys, kChunk, hash_words(seed, width, keys, c)); });
  Sums all;
  for (const Sums& s : parts) {
    all.score_squares += s.score_squares;
    add(all.plain, s.plain);
    add(all.scaled, s.scaled);
  }
  const auto n = static_cast<double>(chunks * kChunk);
  return {width, std::sqrt(all.score_squares / (n * keys)), mean(all.plain, n), mean(all.scaled, n)};
}

// Expectations at d_k = 64 and 8 keys from 200 000 draws of another program.
struct Literature {
  const char *largest, *saturated, *gradient;
};
constexpr Literature kPlain64 = {"0.875", "37 %", "0.177"}, kScaled64 = {"0.360", "0 %", "0.768"};

std::vector<std::string> table_row(const ScaleRow& row, bool scaled, int keys) {
  const SoftmaxShape& s = scaled ? row.scaled : row.plain;
  const bool known = row.width == 64 && keys == 8;
  const Literature& l = scaled ? kScaled64 : kPlain64;
  return {std::to_string(row.width),
          fmt::format("{:.2f}", scaled ? row.score_deviation / std::sqrt(row.width) : row.score_deviation),
          fmt::format("{:.3f}", s.largest_weight),
          known ? l.largest : "–",
          fmt::format("{:.1f} %", 100 * s.saturated),
          known ? l.saturated : "–",
          fmt::format("{:.3f}", s.gradient),
          known ? l.gradient : "–",
          fmt::format("{:.2f}", s.entropy)};
}

LabSection section(const ScaleResult& r, bool scaled) {
  LabSection s{scaled ? "With 1/√d_k" : "Without", "", {}, {}, {}};
  LabTable t{"", {"d_k", "σ of scores", "largest weight", "expected", "over 0.99", "expected", "Σp(1−p)", "expected", "entropy, bits"}, {}};
  for (const ScaleRow& row : r.rows) t.rows.push_back(table_row(row, scaled, r.keys));
  s.tables.push_back(t);
  return s;
}

LabSection trained_section(const ScaleResult& r) {
  LabSection s{
      "Trained with it and without",
      "",
      {fmt::format("The same Transformer of one head, d_k = {}, on {}: same data, same budget, same first values.", r.width, r.text)},
      {},
      {}};
  LabTable results{trained_caption(), trained_header(), {}};
  results.header.insert(results.header.begin(), "scores");
  LabTable weights{"The weights of the trained models on the test lines: mean largest weight of a query, and entropy in bits.",
                   {"scores", "largest: encoder", "decoder", "over the source", "entropy: encoder", "decoder", "over the source"},
                   {}};
  std::vector<const Trained*> models;
  for (const ScaleTrained& t : r.trained) {
    results.rows.push_back(trained_cells(t.trained, t.quality));
    results.rows.back().insert(results.rows.back().begin(), t.trained.contender.name);
    weights.rows.push_back({t.trained.contender.name});
    for (const HeadShape* h : {&t.shapes.encoder, &t.shapes.decoder, &t.shapes.source})
      weights.rows.back().push_back(fmt::format("{:.3f}", h->largest));
    for (const HeadShape* h : {&t.shapes.encoder, &t.shapes.decoder, &t.shapes.source})
      weights.rows.back().push_back(fmt::format("{:.2f}", h->entropy));
    models.push_back(&t.trained);
  }
  s.tables = {results, weights};
  s.figures.push_back(loss_figure(models));
  return s;
}

LabFigure figure(const ScaleResult& r, const char* title, const char* label, double SoftmaxShape::*value) {
  std::vector<Series> series = {{"without", {}, {}}, {"with 1/√d_k", {}, {}}};
  for (const ScaleRow& row : r.rows) {
    for (size_t i = 0; i < 2; ++i) {
      series[i].x.push_back(row.width);
      series[i].y.push_back((i == 0 ? row.plain : row.scaled).*value);
    }
  }
  return {curves_svg({.title = title, .x_label = "d_k", .y_label = label, .log_x = true, .y_from_zero = true}, series), ""};
}

nlohmann::ordered_json json_of(const SoftmaxShape& s) {
  return {{"largest_weight", s.largest_weight}, {"share_over_0.99", s.saturated}, {"gradient", s.gradient}, {"entropy_bits", s.entropy}};
}

Contender with_scale(bool scaled) {
  Contender c{scaled ? "with 1/√d_k" : "without", "transformer-tiny", {"attention.heads=1"}};
  if (!scaled) c.settings.push_back("attention.scale=false");
  return c;
}

// The drawn half takes `begin` of the time.
void train_both(ScaleResult& r, const ScaleOptions& o, const LabText& text, double begin) {
  const TrainingBudget budget = o.budget();
  const TrainingGround ground(text, budget, o.run);
  r.text = text.name;
  const double share = (1 - begin) / 2;
  for (const bool scaled : {true, false}) {
    ScaleTrained t;
    t.trained = ground.train(with_scale(scaled), begin, begin + 0.95 * share);
    r.width = read_config(t.trained.model, nullptr).width;  // settings may have changed it
    t.quality = judge(t.trained.model, text, o.run.threads);
    t.shapes = head_shapes(t.trained.model, text, o.run);
    r.trained.push_back(std::move(t));
    begin += share;
  }
}

}  // namespace

void check_options(const ScaleOptions& o) {
  check_files(o.files);
  check(o.keys >= 1 && o.draws >= 1, "scale: expected at least one key and one draw, found {} and {}", o.keys, o.draws);
  for (const int width : o.widths) check(width >= 1 && width <= 65536, "scale: expected widths of 1 to 65536, found {}", width);
  o.refuse_setting("attention.scale", "one has it, the other has not");
  if (o.updates > 0) check_contenders({with_scale(true), with_scale(false)}, o.budget());
}

ScaleResult run_scale(const ScaleOptions& o) {
  check_options(o);
  const LabText text = o.updates > 0 ? o.text() : LabText();  // what is wrong with files is said before the draws
  Workers workers(threads_or_cores(o.run.threads), flush_denormals);
  const int64_t chunks = (static_cast<int64_t>(o.draws) + kChunk - 1) / kChunk;
  ScaleResult result{o.keys, chunks * kChunk, {}, {}, 0, {}};
  constexpr double kDrawn = 0.1;  // of the time, where models are trained too
  const double drawn = o.updates > 0 ? kDrawn : 1;
  double done = 0, all = 0;
  for (const int w : o.widths) all += w;
  for (const int width : o.widths) {
    o.run.tell(drawn * done / all, fmt::format("d_k = {}", width));
    result.rows.push_back(draw_row(width, o.keys, chunks, o.run.seed, workers));
    done += width;
  }
  if (o.updates > 0) train_both(result, o, text, drawn);
  return result;
}

LabReport report_of(const ScaleResult& r) {
  LabReport report{
      "Why scores are divided by √d_k",
      fmt::format("Queries and {} keys of d_k independent standard normals, {} draws for each d_k: how does the softmax of their scores "
                  "look with and without the division, and how much gradient passes it?",
                  r.keys, r.draws),
      {}};
  report.sections = {section(r, false), section(r, true)};
  report.sections[0].formula = "e_j = q·k_j     Var(e_j) = d_k     p = softmax(e)     ∂p_j/∂e_j = p_j (1 − p_j)";
  report.sections[1].figures = {figure(r, "The largest weight", "mean largest weight", &SoftmaxShape::largest_weight),
                                figure(r, "Draws that are all on one key", "share over 0.99", &SoftmaxShape::saturated),
                                figure(r, "Gradient that passes", "mean Σ p(1 − p)", &SoftmaxShape::gradient)};
  if (!r.trained.empty()) report.sections.push_back(trained_section(r));
  return report;
}

nlohmann::ordered_json to_json(const ScaleResult& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ScaleRow& row : r.rows) {
    rows.push_back(
        {{"d_k", row.width}, {"score_deviation", row.score_deviation}, {"plain", json_of(row.plain)}, {"scaled", json_of(row.scaled)}});
  }
  nlohmann::ordered_json trained = nlohmann::ordered_json::array();
  for (const ScaleTrained& t : r.trained) {
    nlohmann::ordered_json json = {{"scores", t.trained.contender.name}};
    json.update(trained_json(t.trained, t.quality));
    json.update({{"encoder", to_json(t.shapes.encoder)}, {"decoder", to_json(t.shapes.decoder)}, {"source", to_json(t.shapes.source)}});
    trained.push_back(json);
  }
  return {{"experiment", "scale"}, {"keys", r.keys}, {"draws", r.draws}, {"rows", rows}, {"trained", trained}};
}

}  // namespace jumok
