#include "lab/head_shapes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/float_mode.h"
#include "base/workers.h"
#include "models/model_files.h"
#include "translate/forced.h"

namespace jumok {
namespace {

constexpr size_t kSentences = 100;  // whose weights are looked at

double bits(const float* p, int64_t n) {
  double h = 0;
  for (int64_t j = 0; j < n; ++j) h -= p[j] > 0 ? p[j] * std::log2(p[j]) : 0;
  return h;
}

// H((p + q) / 2) - (H(p) + H(q)) / 2, bits.
double jensen_shannon(const float* p, const float* q, int64_t n) {
  std::vector<float> middle(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j) middle[static_cast<size_t>(j)] = (p[j] + q[j]) / 2;
  return std::max(0.0, bits(middle.data(), n) - (bits(p, n) + bits(q, n)) / 2);
}

std::vector<SymbolPair> symbol_pairs(const LoadedModel& m, const LabText& text) {
  std::vector<SymbolPair> pairs;
  const size_t longest = static_cast<size_t>(m.config.max_positions) - 1;
  for (size_t i = 0; i < text.test_source.size() && pairs.size() < kSentences; ++i) {
    SymbolPair p{m.subwords.source->encode(text.test_source[i]).ids, m.subwords.target->encode(text.test_target[i]).ids};
    if (p.source.size() <= longest && p.target.size() <= longest) pairs.push_back(std::move(p));
  }
  return pairs;
}

}  // namespace

void HeadSums::add(const std::vector<std::vector<float>>& heads, int64_t keys) {
  const int64_t queries = static_cast<int64_t>(heads.front().size()) / keys;
  for (int64_t t = 0; t < queries; ++t) {
    for (size_t h = 0; h < heads.size(); ++h) {
      const float* p = heads[h].data() + t * keys;
      entropy += bits(p, keys);
      largest += *std::max_element(p, p + keys);
      possible += std::log2(std::max<double>(1, static_cast<double>(std::count_if(p, p + keys, [](float w) { return w > 0; }))));
      ++rows;
      for (size_t g = 0; g < h; ++g, ++pair_rows) divergence += jensen_shannon(p, heads[g].data() + t * keys, keys);
    }
  }
}

HeadShape HeadSums::mean() const {
  const auto n = static_cast<double>(std::max<int64_t>(1, rows)), pairs = static_cast<double>(std::max<int64_t>(1, pair_rows));
  return {entropy / n, possible / n, largest / n, divergence / pairs};
}

HeadShapes head_shapes(const std::filesystem::path& model, const LabText& text, const LabRun& run) {
  const LoadedModel m = load_model(model);
  Workers workers(threads_or_cores(run.threads), flush_denormals);
  const std::vector<SymbolPair> pairs = symbol_pairs(m, text);
  ForcedOptions options;
  options.maps = true;
  HeadSums encoder, decoder, source;
  force_in_turn(*m.model, m.parameters->data(), pairs, options, workers, [&](size_t i, const Forced& forced) {
    for (const AttentionMaps::Map& map : forced.maps) {
      const bool over_source = map.name.find("cross_attention") != std::string::npos;
      const bool of_target = !over_source && map.name.starts_with("decoder");
      const size_t keys = of_target ? pairs[i].target.size() + 1 : pairs[i].source.size() + 1;
      (over_source ? source : of_target ? decoder : encoder).add(map.weights, static_cast<int64_t>(keys));
    }
  });
  return {encoder.mean(), decoder.mean(), source.mean()};
}

nlohmann::ordered_json to_json(const HeadShape& s) {
  return {{"entropy_bits", s.entropy}, {"possible_bits", s.possible}, {"largest_weight", s.largest}, {"divergence_bits", s.divergence}};
}

}  // namespace jumok
