// The public Aligner: pairs of lines → symbols → forced decoding → words and links.
#include "jumok/aligner.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/queued_log.h"
#include "base/workers.h"
#include "models/model_files.h"
#include "text/unicode.h"
#include "translate/attention_matrices.h"
#include "translate/forced.h"
#include "translate/word_alignment.h"

namespace jumok {
namespace {

struct EncodedPair {
  Encoded source, target;
  bool blank() const { return source.ids.empty() || target.ids.empty(); }
};

void check_links(const LinkOptions& links) {
  check(links.threshold >= 0 && links.threshold <= 1, "link threshold = {}: expected 0 to 1", links.threshold);
}

}  // namespace

struct Aligner::Inside {
  LoadedModel model;
  mutable QueuedLog log;
  std::vector<std::string> names;  // of the attentions over the source
  int heads = 0;                   // of each
  int matrices = 0;                // of all the model's attentions, those of one side among them
  mutable std::mutex mutex;        // Workers run one round at a time
  mutable Workers workers;

  Inside(const std::filesystem::path& path, const TranslatorOptions& options)
      : model(load_model(path)),
        log(options.log),
        names(model.model->source_attentions()),
        workers(threads_or_cores(options.threads), flush_denormals) {
    check(!names.empty(), "{}: this model has no attention over the source: it cannot align", path.string());
    heads = count_matrices(names.front());
    matrices = count_matrices("");
  }

  int count_matrices(const std::string& only) const;
  int layer_of(const AttentionChoice& choice) const;
  Encoded encode(const Subwords& subwords, const std::string& line, const std::string& name, bool only) const;
  // `only`: one attention will be asked for, not all.
  std::vector<EncodedPair> encode(std::span<const std::string> sources, std::span<const std::string> targets, int64_t first_line,
                                  bool only) const;

  // Takes the maps of one pair, first layer first.
  using Visit = std::function<void(size_t pair, std::span<const AttentionMaps::Map> maps)>;
  // Forced decoding of those pairs that are not blank, in order. `only` as in ForcedOptions.
  void attend(const std::vector<EncodedPair>& pairs, const std::string& only, const AlignOptions& options, const Visit& visit) const;
};

int Aligner::Inside::count_matrices(const std::string& only) const {
  ForcedOptions options;
  options.maps = true;
  options.only = only;
  return jumok::count_matrices(*model.model, model.parameters->data(), options, workers);
}

int Aligner::Inside::layer_of(const AttentionChoice& choice) const {
  const int layer = alignment_layer(choice.layer, static_cast<int>(names.size()));
  check(choice.head >= -1 && choice.head < heads, "attention head {}: expected 0 to {}, or -1 for the mean of all", choice.head, heads - 1);
  return layer;
}

// Cut to what the model has positions for, and memory the weights of.
Encoded Aligner::Inside::encode(const Subwords& subwords, const std::string& line, const std::string& name, bool only) const {
  const int positions = model.config.max_positions - 1, most = longest_aligned(only ? heads : matrices);  // symbols without the end symbol
  const auto longest = static_cast<size_t>(std::min(positions, most));
  Encoded e = subwords.encode(line);
  if (e.ids.size() > longest) {
    log.warn(fmt::format("{}: {} symbols, {} {}: the rest is cut off", name, e.ids.size(),
                         positions <= most ? "the model takes" : "memory is kept for the weights of", longest));
    e.ids.resize(longest);
    e.word.resize(longest);
  }
  return e;
}

std::vector<EncodedPair> Aligner::Inside::encode(std::span<const std::string> sources, std::span<const std::string> targets,
                                                 int64_t first_line, bool only) const {
  std::vector<EncodedPair> pairs;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string number = std::to_string(first_line + static_cast<int64_t>(i));
    EncodedPair pair;
    if (!is_blank(sources[i])) pair.source = encode(*model.subwords.source, sources[i], "source line " + number, only);
    if (!is_blank(targets[i])) pair.target = encode(*model.subwords.target, targets[i], "target line " + number, only);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

void Aligner::Inside::attend(const std::vector<EncodedPair>& pairs, const std::string& only, const AlignOptions& options,
                             const Visit& visit) const {
  check(options.batch_tokens >= 1, "batch tokens = {}: expected 1 or more", options.batch_tokens);
  std::vector<size_t> numbers;  // of those that are not blank
  std::vector<SymbolPair> symbols;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].blank()) continue;
    numbers.push_back(i);
    symbols.push_back({pairs[i].source.ids, pairs[i].target.ids});
  }
  ForcedOptions forced_options;
  forced_options.maps = true;
  forced_options.only = only;
  forced_options.batch_rows = options.batch_tokens;
  force_in_turn(*model.model, model.parameters->data(), symbols, forced_options, workers, [&](size_t k, Forced& forced) {
    std::erase_if(forced.maps, [&](const auto& map) { return std::find(names.begin(), names.end(), map.name) == names.end(); });
    check_finite(forced.maps, options.first_line + static_cast<int64_t>(numbers[k]));
    visit(numbers[k], forced.maps);
  });
}

Aligner::Aligner(const std::filesystem::path& model, const TranslatorOptions& options)
    : inside_(std::make_unique<Inside>(model, options)) {}
Aligner::~Aligner() = default;
Aligner::Aligner(Aligner&&) noexcept = default;
Aligner& Aligner::operator=(Aligner&&) noexcept = default;

int Aligner::layers() const { return static_cast<int>(inside_->names.size()); }
int Aligner::heads() const { return inside_->heads; }

std::vector<Alignment> Aligner::align(std::span<const std::string> sources, std::span<const std::string> targets,
                                      const AlignOptions& options) const {
  check_counts(sources, targets);
  check_links(options.links);
  const std::string& layer = inside_->names[static_cast<size_t>(inside_->layer_of(options.attention))];
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  const auto pairs = inside_->encode(sources, targets, options.first_line, true);
  std::vector<Alignment> results(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].blank()) results[i] = word_alignment({}, {}, {}, sources[i], targets[i]);
  }
  inside_->attend(pairs, layer, options, [&](size_t i, std::span<const AttentionMaps::Map> maps) {
    const EncodedPair& pair = pairs[i];
    const SymbolWeights weights =
        symbol_weights(maps.front(), options.attention.head, options.attention.step, static_cast<int>(pair.target.ids.size()) + 1,
                       static_cast<int>(pair.source.ids.size()) + 1);
    results[i] = word_alignment(weights, pair.source.word, pair.target.word, sources[i], targets[i], options.links);
  });
  for (Alignment& a : results) a.layer = layer;
  return results;
}

std::vector<AttentionMatrices> Aligner::matrices(std::span<const std::string> sources, std::span<const std::string> targets,
                                                 const AlignOptions& options, Attentions which) const {
  check_counts(sources, targets);
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  check(options.batch_tokens >= 1, "batch tokens = {}: expected 1 or more", options.batch_tokens);
  std::vector<SymbolPair> pairs;
  for (EncodedPair& pair : inside_->encode(sources, targets, options.first_line, false)) {
    pairs.push_back({std::move(pair.source.ids), std::move(pair.target.ids)});
  }
  return forced_matrices(inside_->model, pairs, {which, options.first_line, options.batch_tokens}, inside_->workers);
}

std::vector<AttentionTrial> Aligner::try_attentions(std::span<const std::string> sources, std::span<const std::string> targets,
                                                    std::span<const GoldAlignment> gold, const TrialOptions& options) const {
  check_counts(sources, targets);
  check(gold.size() == sources.size(), "expected gold links for as many pairs as there are, found {} for {}", gold.size(), sources.size());
  check_links(options.links);
  std::vector<AttentionTrial> trials;
  for (int layer = 0; layer < layers(); ++layer) {
    for (const AttentionStep step : options.steps) {
      for (int head = -1; head < heads(); ++head) trials.push_back({{layer, head, step}, {}});
    }
  }
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  const auto pairs = inside_->encode(sources, targets, 1, false);
  std::vector<std::vector<WordLinks>> links(trials.size(), std::vector<WordLinks>(pairs.size()));
  AlignOptions align;
  align.batch_tokens = options.batch_tokens;
  inside_->attend(pairs, "", align, [&](size_t i, std::span<const AttentionMaps::Map> maps) {
    const int rows = static_cast<int>(pairs[i].target.ids.size()) + 1, columns = static_cast<int>(pairs[i].source.ids.size()) + 1;
    for (size_t t = 0; t < trials.size(); ++t) {
      const AttentionChoice& choice = trials[t].attention;
      const SymbolWeights weights = symbol_weights(maps[static_cast<size_t>(choice.layer)], choice.head, choice.step, rows, columns);
      links[t][i] = word_alignment(weights, pairs[i].source.word, pairs[i].target.word, sources[i], targets[i], options.links).links;
    }
  });
  const std::vector<GoldAlignment> gold_links(gold.begin(), gold.end());
  for (size_t t = 0; t < trials.size(); ++t) trials[t].score = alignment_error_rate(links[t], gold_links, options.judged);
  return trials;
}

AttentionTrial best_trial(std::span<const AttentionTrial> trials) {
  check(!trials.empty(), "expected at least one attention to choose from, found none");
  return *std::min_element(trials.begin(), trials.end(),
                           [](const auto& a, const auto& b) { return a.score.error_rate < b.score.error_rate; });
}

}  // namespace jumok
