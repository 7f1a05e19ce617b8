// The public Translator: lines → symbols → search → lines.
#include "jumok/translator.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/error.h"
#include "gemm/worker_threads.h"
#include "models/model_files.h"
#include "report/attention_page.h"
#include "text/unicode.h"
#include "translate/decode.h"
#include "translate/forced.h"
#include "translate/model_facts.h"
#include "translate/word_alignment.h"

namespace jumok {
namespace {

// The attention that alignments are read from: `layer` of those over the source, by default the last but one.
std::string layer_name(const EncoderDecoder& model, int layer) {
  const std::vector<std::string> names = model.source_attentions();
  check(!names.empty(), "alignments: this model has no attention over the source");
  const int layers = static_cast<int>(names.size());
  check(layer >= -1 && layer < layers, "alignment layer {}: expected 0 to {}, or -1 for the last but one", layer, layers - 1);
  return names[static_cast<size_t>(layer >= 0 ? layer : std::max(0, layers - 2))];
}

void check_options(const TranslateOptions& o) {
  check(o.beam >= 1, "beam = {}: expected 1 or more", o.beam);
  check(o.nbest >= 1 && o.nbest <= o.beam, "n-best = {}: expected 1 to the beam, {}", o.nbest, o.beam);
  check(o.max_length >= 0, "maximum length = {}: expected 0 or more", o.max_length);
  check(o.batch_tokens >= 1, "batch tokens = {}: expected 1 or more", o.batch_tokens);
}

}  // namespace

struct Translator::Inside {
  LoadedModel model;
  LogSink log;
  mutable std::mutex mutex;  // Workers run one round at a time
  mutable Workers workers;
  Inside(const std::filesystem::path& path, const TranslatorOptions& options)
      : model(load_model(path)), log(options.log), workers(threads_or_cores(options.threads), prepare_model_thread) {
    check(model.config.architecture != Architecture::kLanguageModel, "{}: expected a translation model, found a language model",
          path.string());
  }

  const float* parameters() const { return model.parameters->data(); }
  int longest() const { return model.config.max_positions - 1; }  // symbols without the end symbol

  void warn(const std::string& text) const {
    if (log) log(LogLevel::kWarning, text);
  }

  // Cut to what the model has positions for; `what` names the line in the warning.
  Encoded encode(const Subwords& subwords, const std::string& line, const std::string& what) const {
    Encoded e = subwords.encode(line);
    if (static_cast<int>(e.ids.size()) > longest()) {
      warn(fmt::format("{}: {} symbols, the model takes {}: the rest is cut off", what, e.ids.size(), longest()));
      e.ids.resize(longest());
      e.word.resize(longest());
    }
    return e;
  }

  std::vector<std::vector<Translation>> translate(std::span<const std::string> lines, const TranslateOptions& options) const;
  void add_alignments(std::span<const std::string> lines, const std::vector<Encoded>& encoded, const std::vector<int32_t>& asked,
                      const std::vector<std::vector<Hypothesis>>& found, const TranslateOptions& options,
                      std::vector<std::vector<Translation>>& results) const;
  AttentionExample example(const SymbolPair& pair, Forced& forced) const;
};

std::vector<std::vector<Translation>> Translator::Inside::translate(std::span<const std::string> lines,
                                                                    const TranslateOptions& options) const {
  std::vector<std::vector<Translation>> results(lines.size(), std::vector<Translation>(1));
  std::vector<Encoded> encoded;
  std::vector<int32_t> asked;  // numbers of the lines the model is asked about
  std::vector<std::vector<int32_t>> sources;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (is_blank(lines[i])) continue;
    Encoded e = encode(*model.subwords.source, lines[i], fmt::format("line {}", options.first_line + static_cast<int64_t>(i)));
    if (e.ids.empty()) continue;
    asked.push_back(static_cast<int32_t>(i));
    sources.push_back(e.ids);
    encoded.push_back(std::move(e));
  }
  DecodeOptions decode_options;
  decode_options.search = translation_search();
  decode_options.search.beam = options.beam;
  decode_options.search.nbest = options.nbest;
  decode_options.search.alpha = options.alpha;
  decode_options.search.max_length = options.max_length;
  decode_options.batch_tokens = options.batch_tokens;
  const auto found = decode(*model.model, parameters(), sources, decode_options, workers);
  for (size_t k = 0; k < asked.size(); ++k) {
    auto& list = results[asked[k]];
    list.clear();
    for (const Hypothesis& h : found[k]) list.push_back({model.subwords.target->decode(h.tokens), h.score, h.log_prob, h.cut, {}});
  }
  if (options.alignments) add_alignments(lines, encoded, asked, found, options, results);
  return results;
}

void Translator::Inside::add_alignments(std::span<const std::string> lines, const std::vector<Encoded>& encoded,
                                        const std::vector<int32_t>& asked, const std::vector<std::vector<Hypothesis>>& found,
                                        const TranslateOptions& options, std::vector<std::vector<Translation>>& results) const {
  std::vector<SymbolPair> pairs;
  for (size_t k = 0; k < asked.size(); ++k) {
    for (const Hypothesis& h : found[k]) {
      pairs.push_back({encoded[k].ids, h.tokens});
      // Only an output cut at the last position can be longer than forced decoding, which feeds the start symbol too, has room for.
      if (static_cast<int>(h.tokens.size()) > longest()) pairs.back().target.resize(longest());
    }
  }
  ForcedOptions forced_options;
  forced_options.maps = true;
  forced_options.only = layer_name(*model.model, options.alignment_layer);
  const std::vector<Forced> forced = force(*model.model, parameters(), pairs, forced_options, workers);
  size_t p = 0;
  for (size_t k = 0; k < asked.size(); ++k) {
    for (Translation& t : results[asked[k]]) {
      const Decoded decoded = model.subwords.target->decode_words(pairs[p].target);
      const SymbolWeights weights = mean_over_heads(forced[p].maps.front(), 0, static_cast<int>(pairs[p].target.size()) + 1,
                                                    static_cast<int>(pairs[p].source.size()) + 1);
      t.alignment = word_alignment(weights, encoded[k].word, decoded.word, lines[asked[k]], t.text);
      t.alignment.layer = forced_options.only;
      ++p;
    }
  }
}

// Rows and columns are symbols, end symbols included; layers are those of the decoder's cross-attention.
AttentionExample Translator::Inside::example(const SymbolPair& pair, Forced& forced) const {
  AttentionExample e;
  for (const int32_t id : pair.target) e.rows.push_back(model.subwords.target->piece(id));
  for (const int32_t id : pair.source) e.columns.push_back(model.subwords.source->piece(id));
  e.rows.push_back("</s>");
  e.columns.push_back("</s>");
  const std::vector<std::string> names = model.model->source_attentions();
  e.layers = 0;
  e.heads = model.config.heads;
  for (AttentionMaps::Map& map : forced.maps) {
    if (std::find(names.begin(), names.end(), map.name) == names.end()) continue;
    ++e.layers;
    for (auto& weights : map.weights) e.maps.push_back(std::move(weights));
  }
  return e;
}

Translator::Translator(const std::filesystem::path& model, const TranslatorOptions& options)
    : inside_(std::make_unique<Inside>(model, options)) {}
Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;
Translator& Translator::operator=(Translator&&) noexcept = default;

std::vector<std::vector<Translation>> Translator::translate(std::span<const std::string> lines, const TranslateOptions& options) const {
  check_options(options);
  const EncoderDecoder& model = *inside_->model.model;
  if (options.alignments || !model.source_attentions().empty()) layer_name(model, options.alignment_layer);
  std::lock_guard lock(inside_->mutex);
  return inside_->translate(lines, options);
}

std::vector<PairScore> Translator::score(std::span<const std::string> sources, std::span<const std::string> targets,
                                         int64_t first_line) const {
  check(sources.size() == targets.size(), "expected as many targets as sources, found {} and {}", targets.size(), sources.size());
  std::lock_guard lock(inside_->mutex);
  const SubwordPair& subwords = inside_->model.subwords;
  std::vector<SymbolPair> pairs;
  std::vector<PairScore> scores;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t line = first_line + static_cast<int64_t>(i);
    pairs.push_back({inside_->encode(*subwords.source, sources[i], fmt::format("source line {}", line)).ids,
                     inside_->encode(*subwords.target, targets[i], fmt::format("target line {}", line)).ids});
    scores.push_back({0, static_cast<int64_t>(pairs.back().target.size()) + 1});
  }
  ForcedOptions options;
  options.forbidden = never_produced();
  const std::vector<Forced> forced = force(*inside_->model.model, inside_->parameters(), pairs, options, inside_->workers);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i].log_prob = forced[i].log_prob;
    check(std::isfinite(scores[i].log_prob), "line {}: the model gives no finite probability: its parameters are damaged",
          first_line + static_cast<int64_t>(i));
  }
  return scores;
}

std::string Translator::attention_page(const std::string& title, std::span<const std::string> sources, std::span<const std::string> targets,
                                       std::span<const std::string> references) const {
  check(sources.size() == targets.size() && (references.empty() || references.size() == sources.size()),
        "expected as many targets and references as sources, found {}, {} and {}", targets.size(), references.size(), sources.size());
  std::lock_guard lock(inside_->mutex);
  const SubwordPair& subwords = inside_->model.subwords;
  std::vector<SymbolPair> pairs;
  for (size_t i = 0; i < sources.size(); ++i)
    pairs.push_back({subwords.source->encode(sources[i]).ids, subwords.target->encode(targets[i]).ids});
  for (SymbolPair& p : pairs) {
    p.source.resize(std::min<size_t>(p.source.size(), inside_->longest()));
    p.target.resize(std::min<size_t>(p.target.size(), inside_->longest()));
  }
  ForcedOptions options;
  options.maps = true;
  std::vector<Forced> forced = force(*inside_->model.model, inside_->parameters(), pairs, options, inside_->workers);
  std::vector<AttentionExample> examples;
  for (size_t i = 0; i < pairs.size(); ++i) {
    examples.push_back(inside_->example(pairs[i], forced[i]));
    examples.back().source = sources[i];
    examples.back().output = targets[i];
    if (!references.empty()) examples.back().reference = references[i];
  }
  return jumok::attention_page(title, examples);
}

std::vector<std::pair<std::string, std::string>> Translator::facts() const { return model_facts(inside_->model); }

}  // namespace jumok
