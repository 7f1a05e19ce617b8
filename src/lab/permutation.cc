#include "lab/permutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/workers.h"
#include "models/seq2seq.h"
#include "models/transformer.h"
#include "report/heat_map.h"

namespace jumok {
namespace {

using Sentence = std::vector<int32_t>;
using Matrix = std::vector<std::vector<float>>;                           // [n, D]
using Function = std::function<Matrix(const Sentence&, AttentionMaps*)>;  // f

constexpr int kVocabulary = 64, kFirstSymbol = 3;

Matrix copied(const Tensor& t) {
  Matrix m(static_cast<size_t>(t.rows));
  for (int64_t r = 0; r < t.rows; ++r) m[static_cast<size_t>(r)].assign(t.row(r), t.row(r) + t.columns);
  return m;
}

// The symbols alone, without the end symbol: it would be a row that no permutation moves.
PackedRows packed(const Sentence& s) {
  PackedRows rows;
  rows.ids = s;
  rows.position.resize(s.size());
  std::iota(rows.position.begin(), rows.position.end(), 0);
  rows.begin = {0};
  rows.length = {static_cast<int32_t>(s.size())};
  rows.sentence = {0};
  return rows;
}

std::vector<float> first_values(const ParameterLayout& layout, uint64_t seed) {
  std::vector<float> block(static_cast<size_t>(layout.size()));
  layout.initialise(block.data(), seed);
  return block;
}

Transformer transformer(const PermutationOptions& o, Positions positions) {
  ModelConfig c = model_preset(o.preset);
  c.positions = positions;
  c.source_vocabulary = c.target_vocabulary = kVocabulary;
  c.max_positions = std::max(c.max_positions, o.length + 1);
  return Transformer(c);
}

Function encoder(const Transformer& model, const std::vector<float>& parameters) {
  return [&](const Sentence& s, AttentionMaps* maps) {
    Arena arena;
    Context context{arena, parameters.data()};
    const PackedRows rows = packed(s);
    return copied(model.encode(context, transformer_rows(rows, {}, {}), maps).value);
  };
}

// The decoder over the words of x as its input, with a fixed source.
Function decoder(const Transformer& model, const std::vector<float>& parameters) {
  return [&](const Sentence& s, AttentionMaps*) {
    Arena arena;
    Context context{arena, parameters.data()};
    const PackedRows source = packed({kFirstSymbol, kFirstSymbol + 1}), target = packed(s);
    const Variable memory = model.encode(context, transformer_rows(source, {}, {}), nullptr);
    return copied(model.decode(context, model.project_memory(context, memory), source, transformer_rows(target, {}, {}), nullptr).value);
  };
}

Function recurrent_encoder(const Seq2Seq& model, const std::vector<float>& parameters) {
  return [&](const Sentence& s, AttentionMaps*) {
    Arena arena;
    Context context{arena, parameters.data()};
    return copied(model.encode(context, packed(s), {}).states.value);
  };
}

double greatest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  return most;
}

// A sentence whose first symbol comes again in the middle, and random orders of it.
PermutationRow measure(const std::string& name, const Function& f, const PermutationOptions& o) {
  PermutationRow row{name};
  Rng rng(hash_words(o.run.seed, 7));
  Sentence x(static_cast<size_t>(o.length));
  for (auto& id : x) id = static_cast<int32_t>(kFirstSymbol + 1 + rng.below(kVocabulary - kFirstSymbol - 1));
  x.front() = x[x.size() / 2] = kFirstSymbol;
  const Matrix y = f(x, nullptr);
  row.twins = greatest_difference(y.front(), y[x.size() / 2]);
  for (const auto& r : y) row.size = std::max(row.size, greatest_difference(r, std::vector<float>(r.size())));
  std::vector<int> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  for (int p = 0; p < o.permutations; ++p) {
    rng.shuffle(order);
    Sentence shuffled;
    for (const int i : order) shuffled.push_back(x[static_cast<size_t>(i)]);
    const Matrix z = f(shuffled, nullptr);
    for (size_t i = 0; i < z.size(); ++i)
      row.difference = std::max(row.difference, greatest_difference(z[i], y[static_cast<size_t>(order[i])]));
  }
  return row;
}

OrderMap order_map(const std::string& name, const Function& f, const std::vector<std::string>& words) {
  const std::vector<std::string> known = {"the", "dog", "bites", "man"};
  Sentence s;
  for (const std::string& w : words) {
    s.push_back(static_cast<int32_t>(kFirstSymbol + (std::find(known.begin(), known.end(), w) - known.begin())));
  }
  AttentionMaps maps;
  f(s, &maps);
  const AttentionMaps::Map& first = maps.maps.front();
  OrderMap out{name, words, std::vector<float>(s.size() * s.size())};
  for (const auto& head : first.weights) {
    for (size_t i = 0; i < out.weights.size(); ++i) out.weights[i] += head[i] / static_cast<float>(first.heads);
  }
  return out;
}

void run_transformers(PermutationResult& result, const PermutationOptions& o) {
  constexpr std::pair<Positions, const char*> kKinds[] = {
      {Positions::kNone, "no positions"}, {Positions::kSinusoidal, "sinusoidal positions"}, {Positions::kLearned, "learned positions"}};
  for (const auto& [kind, name] : kKinds) {
    const Transformer model = transformer(o, kind);
    const std::vector<float> parameters = first_values(model.layout(), o.run.seed);
    const Function f = encoder(model, parameters);
    result.rows.push_back(measure(fmt::format("encoder, {}", name), f, o));
    if (kind == Positions::kLearned) continue;
    result.maps.push_back(order_map(name, f, {"the", "dog", "bites", "the", "man"}));
    result.maps.push_back(order_map(name, f, {"the", "man", "bites", "the", "dog"}));
    if (kind == Positions::kNone) result.rows.push_back(measure("decoder (causal mask), no positions", decoder(model, parameters), o));
  }
}

}  // namespace

void check_options(const PermutationOptions& o) {
  check(model_preset(o.preset).architecture == Architecture::kTransformer,
        "permutation: preset {}: expected an encoder-decoder Transformer", o.preset);
  check(o.length >= 2 && o.length <= 1000 && o.permutations >= 1,
        "permutation: expected 2 to 1000 symbols and a permutation or more, found {} and {}", o.length, o.permutations);
}

PermutationResult run_permutation(const PermutationOptions& o) {
  check_options(o);
  PermutationResult result{o.length, o.permutations, {}, {}};
  Workers(1, flush_denormals).run(1, [&](int, int) {
    run_transformers(result, o);
    ModelConfig c = model_preset("rnn-bahdanau");
    c.source_vocabulary = c.target_vocabulary = kVocabulary;
    const Seq2Seq model(c);
    const std::vector<float> parameters = first_values(model.layout(), o.run.seed);
    result.rows.push_back(measure("recurrent encoder", recurrent_encoder(model, parameters), o));
  });
  return result;
}

LabReport report_of(const PermutationResult& r) {
  LabReport report{
      "Does the model know the order of the words?",
      "The words of a sentence in another order: do their representations only change places (the model sees a bag of words), or do they "
      "change?",
      {}};
  LabSection s{
      "Shuffled words, shuffled rows?",
      "f(P x) = P f(x)   for every permutation P: permutation-equivariant",
      {fmt::format("{} random orders of a sentence of {} symbols, one of which stands in it twice; parameters at their first values.",
                   r.permutations, r.length)},
      {},
      {}};
  LabTable t{
      "Largest |f|: to compare with. Twins: difference between the two rows of the repeated symbol. "
      "Single precision rounds at about 1e-7 of a value.",
      {"model", "max |f(Px) − Pf(x)|", "largest |f|", "twins", "equivariant", "expected"},
      {}};
  for (const PermutationRow& row : r.rows) {
    t.rows.push_back({row.model, fmt::format("{:.2g}", row.difference), fmt::format("{:.2f}", row.size), fmt::format("{:.2g}", row.twins),
                      row.equivariant() ? "yes" : "no", row.model == "encoder, no positions" ? "yes" : "no"});
  }
  s.tables.push_back(t);
  LabSection pictures{
      "Who bites whom?",
      "",
      {"Self-attention of the first layer, mean of the heads. Without positions the weight between two words is the same in both "
       "orders, and both \"the\" have the same row."},
      {},
      {}};
  for (const OrderMap& m : r.maps) pictures.figures.push_back({heat_map_svg({m.words, m.words, m.weights, "With " + m.model}), "", true});
  report.sections = {s, pictures};
  return report;
}

nlohmann::ordered_json to_json(const PermutationResult& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PermutationRow& row : r.rows) {
    rows.push_back({{"model", row.model},
                    {"difference", row.difference},
                    {"largest", row.size},
                    {"twins", row.twins},
                    {"equivariant", row.equivariant()}});
  }
  nlohmann::ordered_json maps = nlohmann::ordered_json::array();
  for (const OrderMap& m : r.maps) maps.push_back({{"model", m.model}, {"words", m.words}, {"weights", m.weights}});
  return {{"experiment", "permutation"}, {"length", r.length}, {"permutations", r.permutations}, {"rows", rows}, {"maps", maps}};
}

}  // namespace jumok
