// The public Translator: lines → symbols → search → lines.
#include "jumok/translator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/queued_log.h"
#include "base/workers.h"
#include "models/model_files.h"
#include "text/unicode.h"
#include "translate/attention_matrices.h"
#include "translate/decode.h"
#include "translate/forced.h"
#include "translate/model_facts.h"
#include "translate/word_alignment.h"

namespace jumok {
namespace {

// The attention that alignments are read from.
std::string layer_name(const EncoderDecoder& model, int layer) {
  const std::vector<std::string> names = model.source_attentions();
  check(!names.empty(), "alignments: this model has no attention over the source");
  return names[static_cast<size_t>(alignment_layer(layer, static_cast<int>(names.size())))];
}

void check_options(const TranslateOptions& o) {
  check(o.beam >= 1, "beam = {}: expected 1 or more", o.beam);
  check(o.nbest >= 1 && o.nbest <= o.beam, "n-best = {}: expected 1 to the beam, {}", o.nbest, o.beam);
  check(o.max_length >= 0, "maximum length = {}: expected 0 or more", o.max_length);
  check(o.alpha >= 0 && std::isfinite(o.alpha), "alpha = {}: expected 0 or more", o.alpha);
  check(o.batch_tokens >= 1, "batch tokens = {}: expected 1 or more", o.batch_tokens);
}

// How lines are called in warnings ("source line 7"), and whether blank ones are left out.
struct Naming {
  const char* what;
  int64_t first = 1;
  bool skip_blank = false;
  int max_symbols = std::numeric_limits<int>::max();  // of a line, where memory is kept for no more
};

// One call of translate() on its way.
struct Request {
  std::span<const std::string> lines;
  const TranslateOptions& options;
  std::vector<int32_t> asked;                     // numbers of the lines the model is asked about
  std::vector<Encoded> encoded;                   // of these
  std::vector<std::vector<Hypothesis>> found;     // of these
  std::vector<std::vector<Translation>> results;  // of all lines
};

}  // namespace

struct Translator::Inside {
  LoadedModel model;
  mutable QueuedLog log;
  mutable std::mutex mutex;  // Workers run one round at a time
  mutable Workers workers;
  Inside(const std::filesystem::path& path, const TranslatorOptions& options)
      : model(load_model(path)), log(options.log), workers(threads_or_cores(options.threads), flush_denormals) {
    check(model.config.architecture != Architecture::kLanguageModel, "{}: expected a translation model, found a language model",
          path.string());
  }

  const float* parameters() const { return model.parameters->data(); }
  int longest() const { return model.config.max_positions - 1; }  // symbols without the end symbol

  // work(i) for each i below `count`, on all workers.
  template <typename Work>
  void each(size_t count, Work work) const {
    constexpr size_t kBlock = 16;
    workers.run(static_cast<int>((count + kBlock - 1) / kBlock), [&](int block, int) {
      const size_t begin = static_cast<size_t>(block) * kBlock;
      for (size_t i = begin; i < std::min(count, begin + kBlock); ++i) work(i);
    });
  }

  // Each line cut to what the model has positions for, and to naming.max_symbols.
  std::vector<Encoded> encode(const Subwords& subwords, std::span<const std::string> lines, const Naming& naming) const {
    std::vector<Encoded> all(lines.size());
    each(lines.size(), [&](size_t i) {
      if (!naming.skip_blank || !is_blank(lines[i])) all[i] = subwords.encode(lines[i]);
    });
    const int most = std::min(longest(), naming.max_symbols);
    const char* const limit = most == longest() ? "the model takes" : "memory is kept for the weights of";
    for (size_t i = 0; i < all.size(); ++i) {
      if (static_cast<int>(all[i].ids.size()) <= most) continue;
      log.warn(fmt::format("{} {}: {} symbols, {} {}: the rest is cut off", naming.what, naming.first + static_cast<int64_t>(i),
                           all[i].ids.size(), limit, most));
      all[i].ids.resize(most);
      all[i].word.resize(most);
    }
    return all;
  }

  void translate(Request& request) const;
  std::vector<int32_t> aligned_target(const Request& request, size_t k, const Hypothesis& hypothesis) const;
  void cut_for_alignment(Request& request) const;
  void add_alignments(Request& request) const;
  std::vector<SymbolPair> pairs(std::span<const std::string> sources, std::span<const std::string> targets, Naming naming) const;
};

void Translator::Inside::translate(Request& r) const {
  r.results.assign(r.lines.size(), std::vector<Translation>(1));
  std::vector<Encoded> encoded = encode(*model.subwords.source, r.lines, {"line", r.options.first_line, true});
  std::vector<std::vector<int32_t>> sources;
  for (size_t i = 0; i < r.lines.size(); ++i) {
    if (encoded[i].ids.empty()) continue;
    r.asked.push_back(static_cast<int32_t>(i));
    sources.push_back(encoded[i].ids);
    r.encoded.push_back(std::move(encoded[i]));
  }
  DecodeOptions options;
  options.search = translation_search();
  options.search.beam = r.options.beam;
  options.search.nbest = r.options.nbest;
  options.search.alpha = r.options.alpha;
  options.search.max_length = r.options.max_length;
  options.batch_tokens = r.options.batch_tokens;
  r.found = decode(*model.model, parameters(), sources, options, workers);
  each(r.asked.size(), [&](size_t k) {
    auto& list = r.results[r.asked[k]];
    list.clear();
    for (const Hypothesis& h : r.found[k])
      list.push_back({model.subwords.target->decode(h.tokens), h.score, h.log_prob, h.cut, {}, h.tokens});
  });
  if (r.options.alignments) add_alignments(r);
}

// Sources cut, after the search, to what memory is kept for the weights of: room for a translation of twice the symbols; the attention's
// heads are at most those of the configuration.
void Translator::Inside::cut_for_alignment(Request& r) const {
  const auto most = static_cast<size_t>(longest_aligned(2 * model.config.heads));
  for (size_t k = 0; k < r.asked.size(); ++k) {
    Encoded& source = r.encoded[k];
    if (source.ids.size() <= most) continue;
    log.warn(fmt::format("line {}: {} symbols, memory is kept for the weights of {}: the rest has no links",
                         r.options.first_line + r.asked[k], source.ids.size(), most));
    source.ids.resize(most);
    source.word.resize(most);
  }
}

// The symbols of an output that its alignment is about: those that forced decoding, which feeds the start symbol too, has positions for
// (only an output cut at the last one has more), and memory the weights of (--max-length may allow far more than the source has).
std::vector<int32_t> Translator::Inside::aligned_target(const Request& r, size_t k, const Hypothesis& h) const {
  std::vector<int32_t> target = h.tokens;
  const auto kept = static_cast<size_t>(longest_aligned_target(model.config.heads, r.encoded[k].ids.size()));
  if (target.size() > kept) {
    log.warn(fmt::format("line {}: a translation of {} symbols, memory is kept for the weights of {}: the rest has no links",
                         r.options.first_line + r.asked[k], target.size(), kept));
  }
  target.resize(std::min({target.size(), kept, static_cast<size_t>(longest())}));
  return target;
}

void Translator::Inside::add_alignments(Request& r) const {
  cut_for_alignment(r);
  std::vector<SymbolPair> pairs;
  std::vector<std::pair<size_t, size_t>> places;  // of each: number among those asked, place in the list
  for (size_t k = 0; k < r.asked.size(); ++k) {
    for (size_t n = 0; n < r.found[k].size(); ++n) {
      pairs.push_back({r.encoded[k].ids, aligned_target(r, k, r.found[k][n])});
      places.emplace_back(k, n);
    }
  }
  ForcedOptions options;
  options.maps = true;
  options.only = layer_name(*model.model, r.options.alignment_layer);
  force_in_turn(*model.model, parameters(), pairs, options, workers, [&](size_t p, Forced& forced) {
    const auto [k, n] = places[p];
    const SymbolPair& pair = pairs[p];
    Translation& t = r.results[r.asked[k]][n];
    const Decoded decoded = model.subwords.target->decode_words(pair.target);
    const SymbolWeights weights =
        mean_over_heads(forced.maps.front(), 0, static_cast<int>(pair.target.size()) + 1, static_cast<int>(pair.source.size()) + 1);
    t.alignment = word_alignment(weights, r.encoded[k].word, decoded.word, r.lines[r.asked[k]], t.text);
  });
  for (auto& list : r.results) {
    for (Translation& t : list) t.alignment.layer = options.only;  // of blank lines too
  }
}

// In warnings the lines are called "source line 3", "target line 3".
std::vector<SymbolPair> Translator::Inside::pairs(std::span<const std::string> sources, std::span<const std::string> targets,
                                                  Naming naming) const {
  naming.what = "source line";
  auto s = encode(*model.subwords.source, sources, naming);
  naming.what = "target line";
  auto t = encode(*model.subwords.target, targets, naming);
  std::vector<SymbolPair> pairs;
  for (size_t i = 0; i < s.size(); ++i) pairs.push_back({std::move(s[i].ids), std::move(t[i].ids)});
  return pairs;
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
  Request request{lines, options, {}, {}, {}, {}};
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  inside_->translate(request);
  return std::move(request.results);
}

std::vector<PairScore> Translator::score(std::span<const std::string> sources, std::span<const std::string> targets,
                                         int64_t first_line) const {
  check_counts(sources, targets);
  ForcedOptions options;
  options.forbidden = never_produced();
  std::vector<PairScore> scores;
  const QueuedLog::Delivery delivery(inside_->log);
  {
    const std::lock_guard lock(inside_->mutex);
    const auto pairs = inside_->pairs(sources, targets, {"", first_line});
    const auto forced = force(*inside_->model.model, inside_->parameters(), pairs, options, inside_->workers);
    for (size_t i = 0; i < pairs.size(); ++i) scores.push_back({forced[i].log_prob, static_cast<int64_t>(pairs[i].target.size()) + 1});
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    check(std::isfinite(scores[i].log_prob), "line {}: the model gives no finite probability: its parameters are damaged",
          first_line + static_cast<int64_t>(i));
  }
  return scores;
}

std::vector<AttentionMatrices> Translator::matrices(std::span<const std::string> sources, std::span<const std::string> targets,
                                                    int64_t first_line, Attentions which) const {
  check_counts(sources, targets);
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  const int most = longest_shown(inside_->model, inside_->workers);
  const std::vector<SymbolPair> pairs = inside_->pairs(sources, targets, {"", first_line, true, most});
  return forced_matrices(inside_->model, pairs, {which, first_line}, inside_->workers);
}

std::vector<AttentionMatrices> Translator::matrices_of(std::span<const std::string> lines, std::span<const Translation> translations,
                                                       int64_t first_line, Attentions which) const {
  check(lines.size() == translations.size(), "expected as many translations as lines, found {} and {}", translations.size(), lines.size());
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  const int most = longest_shown(inside_->model, inside_->workers), longest = std::min(most, inside_->longest());
  std::vector<Encoded> sources = inside_->encode(*inside_->model.subwords.source, lines, {"line", first_line, true, most});
  std::vector<SymbolPair> pairs;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<int32_t>& symbols = translations[i].symbols;  // one more than there are positions to feed, where the last ended it
    const size_t count = std::min(symbols.size(), static_cast<size_t>(longest));
    for (const int32_t id : symbols)
      check(id >= 0 && id < inside_->model.subwords.target->size(), "line {}: no symbol {}", first_line + i, id);
    pairs.push_back({std::move(sources[i].ids), {symbols.begin(), symbols.begin() + static_cast<int64_t>(count)}});
  }
  return forced_matrices(inside_->model, pairs, {which, first_line}, inside_->workers);
}

std::string Translator::attention_page(const std::string& title, std::span<const std::string> sources, std::span<const std::string> targets,
                                       std::span<const std::string> references) const {
  check_counts(sources, targets);
  return jumok::attention_page(title, matrices(sources, targets), sources, targets, references);
}

std::vector<std::pair<std::string, std::string>> Translator::facts() const { return model_facts(inside_->model); }

}  // namespace jumok
