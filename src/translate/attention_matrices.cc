#include "translate/attention_matrices.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/attention_page.h"
#include "report/heat_map.h"
#include "translate/piece_label.h"
#include "translate/word_alignment.h"

namespace jumok {
namespace {

AttentionExample example_of(const AttentionMatrices& m, int64_t number) {
  AttentionExample e;
  e.number = number;
  for (const std::string& symbol : m.target_symbols) e.rows.push_back(piece_label(symbol));
  for (const std::string& symbol : m.source_symbols) e.columns.push_back(piece_label(symbol));
  e.layers = m.layers;
  e.heads = m.heads;
  const size_t size = e.rows.size() * e.columns.size();
  check(m.weights.size() == size * static_cast<size_t>(m.layers) * static_cast<size_t>(m.heads),
        "pair {}: expected {} × {} × {} × {} weights, found {}", number, m.layers, m.heads, e.rows.size(), e.columns.size(),
        m.weights.size());
  for (size_t begin = 0; begin + size <= m.weights.size() && size > 0; begin += size) {
    e.maps.emplace_back(m.weights.begin() + static_cast<int64_t>(begin), m.weights.begin() + static_cast<int64_t>(begin + size));
  }
  return e;
}

Attentions kind_of(const std::string& name) {
  if (name.starts_with("encoder")) return Attentions::kEncoder;
  return name.ends_with("self_attention") ? Attentions::kDecoder : Attentions::kSource;
}

const char* kind_name(Attentions which) {
  if (which == Attentions::kEncoder) return "self-attention in an encoder";
  return which == Attentions::kDecoder ? "self-attention in its decoder" : "attention over the source";
}

// The pieces of `ids` and the end symbol.
std::vector<std::string> symbols_of(const Subwords& subwords, const std::vector<int32_t>& ids) {
  std::vector<std::string> symbols;
  for (const int32_t id : ids) symbols.push_back(subwords.piece(id));
  symbols.push_back(subwords.piece(kEnd));
  return symbols;
}

void set_symbols(const SubwordPair& subwords, const SymbolPair& pair, Attentions which, AttentionMatrices& m) {
  const std::vector<std::string> source = symbols_of(*subwords.source, pair.source), target = symbols_of(*subwords.target, pair.target);
  m.target_symbols = which == Attentions::kEncoder ? source : target;
  m.source_symbols = which == Attentions::kDecoder ? target : source;
  if (which != Attentions::kDecoder) return;
  std::rotate(m.source_symbols.begin(), m.source_symbols.end() - 1, m.source_symbols.end());  // those fed: the start in front, no end
  m.source_symbols.front() = subwords.target->piece(kStart);
}

}  // namespace

void check_counts(std::span<const std::string> sources, std::span<const std::string> targets) {
  check(sources.size() == targets.size(), "expected as many targets as sources, found {} and {}", targets.size(), sources.size());
}

void check_finite(std::span<const AttentionMaps::Map> maps, int64_t line) {
  for (const AttentionMaps::Map& map : maps) {
    for (const auto& head : map.weights) {
      check(std::all_of(head.begin(), head.end(), [](float w) { return std::isfinite(w); }),
            "line {}: the model gives no finite attention: its parameters are damaged", line);
    }
  }
}

std::vector<AttentionMatrices> forced_matrices(const LoadedModel& m, const std::vector<SymbolPair>& pairs, const MatricesRequest& request,
                                               Workers& workers) {
  const bool text = m.config.architecture == Architecture::kLanguageModel;
  const auto keep = [&](std::vector<AttentionMaps::Map>& maps) {
    std::erase_if(maps, [&](const AttentionMaps::Map& map) { return kind_of(map.name) != request.which; });
  };
  ForcedOptions options;
  options.maps = true;
  options.batch_rows = request.batch_rows;
  std::vector<AttentionMaps::Map> shape = force(*m.model, m.parameters->data(), {SymbolPair{}}, options, workers).front().maps;
  keep(shape);
  check(!shape.empty(), "this model has no {}: it has no weights to show", kind_name(request.which));
  AttentionMatrices none;
  none.layers = static_cast<int>(shape.size());
  none.heads = shape.front().heads;
  std::vector<AttentionMatrices> results(pairs.size(), none);
  force_in_turn(*m.model, m.parameters->data(), pairs, options, workers, [&](size_t i, Forced& forced) {
    const SymbolPair& pair = pairs[i];
    if (pair.target.empty() || (pair.source.empty() && !text)) return;
    keep(forced.maps);
    check_finite(forced.maps, request.first_line + static_cast<int64_t>(i));
    set_symbols(m.subwords, pair, request.which, results[i]);
    for (const AttentionMaps::Map& map : forced.maps) {
      for (const auto& head : map.weights) results[i].weights.insert(results[i].weights.end(), head.begin(), head.end());
    }
  });
  return results;
}

int longest_shown(const LoadedModel& m, Workers& workers) {
  ForcedOptions options;
  options.maps = true;
  return longest_aligned(count_matrices(*m.model, m.parameters->data(), options, workers));
}

std::string attention_svg(const AttentionMatrices& m, int layer, int head, std::string_view title) {
  check(layer >= -1 && layer < m.layers, "attention layer {}: expected 0 to {}, or -1 for the mean of all", layer, m.layers - 1);
  check(head >= -1 && head < m.heads, "attention head {}: expected 0 to {}, or -1 for the mean of all", head, m.heads - 1);
  const AttentionExample e = example_of(m, 1);
  std::vector<float> mean(e.rows.size() * e.columns.size());
  int count = 0;
  for (int l = 0; l < m.layers; ++l) {
    for (int h = 0; h < m.heads && !e.maps.empty(); ++h) {
      if ((layer >= 0 && l != layer) || (head >= 0 && h != head)) continue;
      const std::vector<float>& map = e.maps[static_cast<size_t>(l * m.heads + h)];
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += map[i];
      ++count;
    }
  }
  for (float& w : mean) w /= static_cast<float>(std::max(count, 1));
  return heat_map_svg({e.rows, e.columns, mean, std::string(title)});
}

std::string attention_page(std::string_view title, std::span<const AttentionMatrices> matrices, std::span<const std::string> sources,
                           std::span<const std::string> targets, std::span<const std::string> references) {
  check(sources.size() == matrices.size() && targets.size() == matrices.size(),
        "expected as many sources and targets as matrices, found {}, {} and {}", sources.size(), targets.size(), matrices.size());
  check(references.empty() || references.size() == matrices.size(), "expected no references or one a pair, found {} for {}",
        references.size(), matrices.size());
  std::vector<AttentionExample> examples;
  for (size_t i = 0; i < matrices.size(); ++i) {
    AttentionExample e = example_of(matrices[i], static_cast<int64_t>(i) + 1);
    if (e.maps.empty()) continue;  // nothing to show
    e.source = sources[i];
    e.output = targets[i];
    if (!references.empty()) e.reference = references[i];
    examples.push_back(std::move(e));
  }
  return attention_page(title, examples);
}

}  // namespace jumok
