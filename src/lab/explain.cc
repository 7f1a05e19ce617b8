#include "lab/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/workers.h"
#include "lab/explain_formulas.h"
#include "models/model_files.h"
#include "text/unicode.h"
#include "translate/decode.h"
#include "translate/forced.h"
#include "translate/word_alignment.h"

namespace jumok {
namespace {

std::vector<std::string> pieces(const Subwords& subwords, const std::vector<int32_t>& ids) {
  std::vector<std::string> out;
  for (const int32_t id : ids) out.push_back(subwords.piece(id));
  out.push_back("</s>");
  return out;
}

// Where the symbol that is followed stands, or -1: the whole symbol, with SentencePiece's mark of a word's beginning or without, before one
// that has it within.
int64_t row_of(const std::vector<std::string>& rows, const std::string& symbol) {
  if (symbol.empty()) return std::max<int64_t>(0, static_cast<int64_t>(rows.size()) - 2);
  auto found = std::find_if(rows.begin(), rows.end(), [&](const std::string& r) { return r == symbol || r == "▁" + symbol; });
  if (found == rows.end()) {
    found = std::find_if(rows.begin(), rows.end(), [&](const std::string& r) { return r.find(symbol) != std::string::npos; });
  }
  return found == rows.end() ? -1 : found - rows.begin();
}

std::vector<float> part_of(const NumberTable& table, int64_t row, int heads, int head) {
  const int64_t width = table.columns / heads;
  const float* begin = table.row(row) + head * width;
  return {begin, begin + width};
}

ExplainedQuery query_of(const ModelConfig& config, const ExplainedSentence& s, const AttentionMaps::Map& map, int64_t row, int head) {
  const AttentionParts& p = map.parts.front();
  const AttentionAxes axes = axes_of(s, map);
  const auto columns = static_cast<int64_t>(axes.columns.size());
  ExplainedQuery q;
  q.attention = map.name;
  q.heads = map.heads;
  q.head = head;
  q.symbol = axes.rows[static_cast<size_t>(row)];
  q.row = row;
  q.keys = axes.columns;
  q.formulas = formulas_of(config, map.name, p, map.heads);
  q.allowed = allowed_keys(p, row, columns);
  const std::vector<double> scores = scores_of(p, map.heads, head);
  q.scores.assign(scores.begin() + row * columns, scores.begin() + (row + 1) * columns);
  const std::vector<float>& weights = map.weights[static_cast<size_t>(head)];
  q.weights.assign(weights.begin() + row * columns, weights.begin() + (row + 1) * columns);
  // The location score's own projection gives the scores, so the part called query is no query there.
  q.query = p.score == Score::kLocation ? part_of(s.decoder.asking, row, 1, 0) : part_of(p.query, row, map.heads, head);
  q.mixed = part_of(p.mixed, row, map.heads, head);
  q.output_name = output_name(config, p);
  q.readout_name = readout_name(config);
  if (!q.output_name.empty()) q.output = part_of(p.output, row, 1, 0);
  if (!q.readout_name.empty()) q.readout = part_of(s.decoder.readout, row, 1, 0);
  if (!p.centre.empty()) q.centre = p.centre[static_cast<size_t>(row)], q.sigma = p.sigma;
  return q;
}

std::vector<ExplainedQuery> queries_of(const ModelConfig& config, const ExplainedSentence& s, const ExplainOptions& o) {
  std::vector<ExplainedQuery> queries;
  for (const AttentionMaps::Map& map : s.maps) {
    const int64_t row = row_of(axes_of(s, map).rows, o.symbol);
    if (row < 0) continue;
    for (int h = 0; h < map.heads; ++h) {
      if (o.head < 0 || o.head == h) queries.push_back(query_of(config, s, map, row, h));
    }
  }
  return queries;
}

void check_found(const ExplainResult& r, const ExplainOptions& o) {
  for (const ExplainedSentence& s : r.sentences) {
    check(!s.maps.empty() || o.attention.empty(), "attention \"{}\": the model has none of that name", o.attention);
    check(!s.maps.empty(), "the model has no attention to explain");
    int heads = 0;
    for (const AttentionMaps::Map& map : s.maps) heads = std::max(heads, map.heads);
    check(o.head < heads, "head {}: expected 0 to {}", o.head, heads - 1);
  }
  for (size_t i = 0; i < r.queries.size(); ++i) {
    check(!r.queries[i].empty(), "symbol \"{}\": expected a part of one of the symbols {} or, of the translation, {}", o.symbol,
          fmt::join(r.sentences[i].source_symbols, " "), fmt::join(r.sentences[i].target_symbols, " "));
  }
}

bool is_text_model(const LoadedModel& m) { return m.config.architecture == Architecture::kLanguageModel; }

// The text of a language model stands on the target side.
SymbolPair text_of(const LoadedModel& m, const ExplainOptions& o, const std::string& text) {
  const bool none = std::all_of(o.targets.begin(), o.targets.end(), [](const std::string& t) { return t.empty(); });
  check(none, "explain: a language model reads one text, the source; found a target too");
  SymbolPair pair;
  pair.target = m.subwords.target->encode(text).ids;
  const auto longest = static_cast<size_t>(m.config.max_positions) - 1;  // the start symbol has a position too
  check(!pair.target.empty(), "source \"{}\": expected a sentence", text);
  check(pair.target.size() <= longest, "source of {} symbols: the model takes {}", pair.target.size(), longest);
  return pair;
}

std::string target_of(const ExplainOptions& o, size_t source) {
  if (o.targets.empty()) return "";
  return o.targets.size() == 1 ? o.targets.front() : o.targets[source];
}

// The i-th source and its target as symbols; the target is the given one or the greedy translation, as far as there are positions for both.
SymbolPair pair_of(const LoadedModel& m, const ExplainOptions& o, size_t i, Workers& workers) {
  const std::string &source = o.sources[i], target = target_of(o, i);
  if (is_text_model(m)) return text_of(m, o, source);
  SymbolPair pair;
  const auto longest = static_cast<size_t>(m.config.max_positions) - 1;  // the end symbol has one too
  pair.source = m.subwords.source->encode(source).ids;
  check(!pair.source.empty(), "source \"{}\": expected a sentence", source);
  check(pair.source.size() <= longest, "source of {} symbols: the model takes {}", pair.source.size(), longest);
  if (!target.empty()) {
    pair.target = m.subwords.target->encode(target).ids;
    check(pair.target.size() <= longest, "target of {} symbols: the model takes {}", pair.target.size(), longest);
    return pair;
  }
  DecodeOptions options;
  options.search = translation_search();
  options.search.beam = 1;
  pair.target = decode(*m.model, m.parameters->data(), {pair.source}, options, workers).front().front().tokens;
  pair.target.resize(std::min(pair.target.size(), longest));
  return pair;
}

}  // namespace

AttentionAxes axes_of(const ExplainedSentence& s, const AttentionMaps::Map& map) {
  if (map.name.starts_with("encoder")) return {s.source_symbols, s.source_symbols};
  if (!map.name.ends_with("self_attention")) return {s.target_symbols, s.source_symbols};
  std::vector<std::string> fed = {"<s>"};
  fed.insert(fed.end(), s.target_symbols.begin(), s.target_symbols.end() - 1);
  return {fed, fed};
}

void check_options(const ExplainOptions& o) {
  check(!o.sources.empty() && o.sources.size() <= 2, "explain: expected one source, or two to stand side by side, found {}",
        o.sources.size());
  check(o.targets.size() <= 1 || o.targets.size() == o.sources.size(),
        "explain: expected no target, one, or one for each source, found {} for {}", o.targets.size(), o.sources.size());
  for (const std::string& source : o.sources) check(!is_blank(source), "explain: source \"{}\": expected a sentence", source);
}

ExplainResult run_explain(const ExplainOptions& o) {
  check_options(o);
  const LoadedModel m = load_model(o.model);
  Workers workers(threads_or_cores(o.run.threads), flush_denormals);
  ExplainResult result;
  result.symbol = o.symbol;
  result.head = o.head;
  ForcedOptions options;
  options.maps = options.parts = true;
  options.only = o.attention;
  const int longest = longest_aligned(count_matrices(*m.model, m.parameters->data(), options, workers));
  for (size_t i = 0; i < o.sources.size(); ++i) {
    const SymbolPair pair = pair_of(m, o, i, workers);
    check(std::cmp_less_equal(std::max(pair.source.size(), pair.target.size()), longest),
          "source {}: {} symbols, {} of its translation: memory is kept for the weights of {}", i + 1, pair.source.size(),
          pair.target.size(), longest);
    ExplainedSentence s;
    s.source = o.sources[i];
    if (!is_text_model(m)) s.target = m.subwords.target->decode(pair.target);
    s.source_symbols = pieces(*m.subwords.source, pair.source);
    s.target_symbols = pieces(*m.subwords.target, pair.target);
    s.maps = force(*m.model, m.parameters->data(), {pair}, options, workers).front().maps;
    if (const auto* recurrent = dynamic_cast<const Seq2Seq*>(m.model.get()); recurrent != nullptr && !s.maps.empty())
      workers.run(1, [&](int, int) { s.decoder = decoder_rows(*recurrent, m.parameters->data(), pair); });
    result.queries.push_back(queries_of(m.config, s, o));
    result.sentences.push_back(std::move(s));
  }
  check_found(result, o);
  return result;
}

}  // namespace jumok
