// The public Generator: prompts → symbols → one path each → text.
#include "jumok/generator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/hash.h"
#include "base/queued_log.h"
#include "base/workers.h"
#include "models/model_files.h"
#include "search/greedy.h"
#include "search/sampling.h"
#include "translate/attention_matrices.h"
#include "translate/decode.h"
#include "translate/forced.h"
#include "translate/model_facts.h"

namespace jumok {
namespace {

void check_options(const GenerateOptions& o) {
  check(std::isfinite(o.temperature) && o.temperature > 0, "temperature = {}: expected a number above 0", o.temperature);
  check(o.top_k >= 0, "top-k = {}: expected 0 (all) or more", o.top_k);
  check(o.top_p > 0 && o.top_p <= 1, "top-p = {}: expected a number above 0, up to 1", o.top_p);
  check(o.samples >= 1, "samples = {}: expected 1 or more", o.samples);
  check(o.max_length >= 1, "maximum length = {}: expected 1 or more", o.max_length);
  check(o.batch >= 1, "batch = {}: expected 1 or more", o.batch);
}

// One continuation asked for.
struct Sample {
  const std::vector<int32_t>* prompt;  // symbols
  uint64_t seed;
};

// Samples of like length, longest first, at most `most` of them.
std::vector<std::vector<size_t>> batches_of(const std::vector<Sample>& samples, size_t most) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return samples[a].prompt->size() > samples[b].prompt->size(); });
  std::vector<std::vector<size_t>> batches;
  for (size_t begin = 0; begin < order.size(); begin += most)
    batches.emplace_back(order.begin() + begin, order.begin() + std::min(begin + most, order.size()));
  return batches;
}

// The text that `tokens` add behind the prompt. Decoded together, since the first of them would lose its space alone.
std::string continuation_text(const Subwords& subwords, const std::vector<int32_t>& prompt, std::span<const int32_t> tokens) {
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), tokens.begin(), tokens.end());
  const std::string before = subwords.decode(prompt), whole = subwords.decode(all);
  return whole.starts_with(before) ? whole.substr(before.size()) : subwords.decode(tokens);
}

// A prompt that ends with a space has already written the one that the continuation begins with.
std::string joined(const std::string& prompt, const std::string& continuation) {
  const bool twice = prompt.ends_with(' ') && continuation.starts_with(' ');
  return prompt + continuation.substr(twice ? 1 : 0);
}

}  // namespace

struct Generator::Inside {
  LoadedModel model;
  mutable QueuedLog log;
  mutable std::mutex mutex;  // Workers run one round at a time
  mutable Workers workers;

  Inside(const std::filesystem::path& path, const GeneratorOptions& options)
      : model(load_model(path)), log(options.log), workers(threads_or_cores(options.threads), flush_denormals) {
    check(model.config.architecture == Architecture::kLanguageModel, "{}: expected a language model, found a translation model",
          path.string());
  }

  const Subwords& subwords() const { return *model.subwords.target; }
  int positions() const { return model.config.max_positions; }

  std::vector<int32_t> prompt_symbols(const std::string& prompt, int64_t line, int max_length) const;
  // Texts as pairs without a source, cut to the model's positions and to `most` symbols, for which memory is kept.
  std::vector<SymbolPair> texts_as_pairs(std::span<const std::string> texts, int64_t first_line, int most) const;
  std::vector<AttentionMatrices> matrices(const std::vector<SymbolPair>& texts, int64_t first_line) const {
    return forced_matrices(model, texts, {Attentions::kDecoder, first_line}, workers);
  }
  int longest_shown() const { return jumok::longest_shown(model, workers); }
  std::vector<Hypothesis> run_batch(const std::vector<Sample>& samples, const std::vector<size_t>& batch,
                                    const GenerateOptions& options) const;
  Generation generation(const std::string& prompt, const std::vector<int32_t>& symbols, const Hypothesis& h, const std::string& stop) const;
};

// The start symbol takes a position, the last symbol produced none: it is not fed.
std::vector<int32_t> Generator::Inside::prompt_symbols(const std::string& prompt, int64_t line, int max_length) const {
  std::vector<int32_t> ids = subwords().encode(prompt).ids;
  if (static_cast<int>(ids.size()) < positions()) return ids;
  const int kept = std::max(positions() / 2, positions() - max_length);
  log.warn(fmt::format("line {}: the prompt has {} symbols, the model {} positions: only the last {} symbols are read", line, ids.size(),
                       positions(), kept));
  ids.erase(ids.begin(), ids.end() - kept);
  return ids;
}

std::vector<SymbolPair> Generator::Inside::texts_as_pairs(std::span<const std::string> texts, int64_t first_line, int most) const {
  const int taken = positions() - 1;  // the start symbol takes a position
  const auto longest = static_cast<size_t>(std::min(taken, most));
  std::vector<SymbolPair> pairs;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<int32_t> ids = subwords().encode(texts[i]).ids;
    if (ids.size() > longest) {
      log.warn(fmt::format("line {}: {} symbols, {} {}: the rest is cut off", first_line + static_cast<int64_t>(i), ids.size(),
                           taken <= most ? "the model takes" : "memory is kept for the weights of", longest));
      ids.resize(longest);
    }
    pairs.push_back({{}, std::move(ids)});
  }
  return pairs;
}

std::vector<Hypothesis> Generator::Inside::run_batch(const std::vector<Sample>& samples, const std::vector<size_t>& batch,
                                                     const GenerateOptions& options) const {
  const std::vector<std::vector<int32_t>> no_sources(batch.size());
  std::vector<std::vector<int32_t>> prompts;
  std::vector<uint64_t> seeds;
  for (const size_t r : batch) {
    prompts.push_back(*samples[r].prompt);
    seeds.push_back(samples[r].seed);
  }
  SearchOptions search = translation_search();
  search.max_length = options.max_length;
  if (!options.stop.empty()) {
    search.done = [&](int i, std::span<const int32_t> tokens) {
      return continuation_text(subwords(), prompts[i], tokens).find(options.stop) != std::string::npos;
    };
  }
  const auto stepper = model.model->start(model.parameters->data(), pack_source(no_sources));
  if (options.greedy) return greedy_search(*stepper, search, prompts);
  return sample(*stepper, search, {options.temperature, options.top_k, options.top_p}, seeds, prompts);
}

Generation Generator::Inside::generation(const std::string& prompt, const std::vector<int32_t>& symbols, const Hypothesis& h,
                                         const std::string& stop) const {
  Generation g;
  g.continuation = continuation_text(subwords(), symbols, h.tokens);
  if (const size_t at = stop.empty() ? std::string::npos : g.continuation.find(stop); at != std::string::npos) {
    g.continuation.resize(at);
    g.stopped = true;
  }
  g.text = joined(prompt, g.continuation);
  g.log_prob = h.log_prob;
  g.tokens = static_cast<int64_t>(h.tokens.size()) + (h.cut ? 0 : 1);
  g.cut = h.cut && !g.stopped;
  g.symbols = symbols;
  g.symbols.insert(g.symbols.end(), h.tokens.begin(), h.tokens.end());
  return g;
}

bool is_language_model(const std::filesystem::path& model) {
  return read_config(model, nullptr).architecture == Architecture::kLanguageModel;
}

Generator::Generator(const std::filesystem::path& model, const GeneratorOptions& options)
    : inside_(std::make_unique<Inside>(model, options)) {}
Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;

std::vector<std::vector<Generation>> Generator::generate(std::span<const std::string> prompts, const GenerateOptions& options) const {
  check_options(options);
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  std::vector<std::vector<int32_t>> symbols;
  for (size_t i = 0; i < prompts.size(); ++i)
    symbols.push_back(inside_->prompt_symbols(prompts[i], options.first_line + static_cast<int64_t>(i), options.max_length));
  std::vector<Sample> samples;  // prompt by prompt, sample by sample
  for (size_t i = 0; i < prompts.size(); ++i) {
    for (int k = 0; k < options.samples; ++k) samples.push_back({&symbols[i], hash_words(options.seed, hash_text(prompts[i]), k)});
  }
  const auto batches = batches_of(samples, static_cast<size_t>(options.batch));
  std::vector<Hypothesis> found(samples.size());
  inside_->workers.run(static_cast<int>(batches.size()), [&](int b, int) {
    std::vector<Hypothesis> results = inside_->run_batch(samples, batches[b], options);
    for (size_t k = 0; k < results.size(); ++k) found[batches[b][k]] = std::move(results[k]);
  });
  std::vector<std::vector<Generation>> generations(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    for (int k = 0; k < options.samples; ++k)
      generations[i].push_back(inside_->generation(prompts[i], symbols[i], found[i * options.samples + k], options.stop));
  }
  return generations;
}

std::vector<TextScore> Generator::score(std::span<const std::string> texts, int64_t first_line) const {
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  const auto pairs = inside_->texts_as_pairs(texts, first_line, std::numeric_limits<int>::max());
  ForcedOptions options;
  options.forbidden = never_produced();
  const auto forced = force(*inside_->model.model, inside_->model.parameters->data(), pairs, options, inside_->workers);
  std::vector<TextScore> scores;
  for (size_t i = 0; i < texts.size(); ++i) {
    scores.push_back({forced[i].log_prob, static_cast<int64_t>(pairs[i].target.size()) + 1});
    check(std::isfinite(scores.back().log_prob), "line {}: the model gives no finite probability: its parameters are damaged",
          first_line + static_cast<int64_t>(i));
  }
  return scores;
}

std::vector<AttentionMatrices> Generator::matrices(std::span<const std::string> texts, int64_t first_line) const {
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  return inside_->matrices(inside_->texts_as_pairs(texts, first_line, inside_->longest_shown()), first_line);
}

std::vector<AttentionMatrices> Generator::matrices_of(std::span<const Generation> generations, int64_t first_line) const {
  const QueuedLog::Delivery delivery(inside_->log);
  const std::lock_guard lock(inside_->mutex);
  // The last symbol produced need not have a position to be fed at.
  const auto longest = static_cast<size_t>(std::min(inside_->longest_shown(), inside_->positions() - 1));
  std::vector<SymbolPair> pairs;
  for (const Generation& g : generations) {
    for (const int32_t id : g.symbols) check(id >= 0 && id < inside_->subwords().size(), "line {}: no symbol {}", first_line, id);
    pairs.push_back({{}, {g.symbols.begin(), g.symbols.begin() + static_cast<int64_t>(std::min(longest, g.symbols.size()))}});
  }
  return inside_->matrices(pairs, first_line);
}

std::vector<std::pair<std::string, std::string>> Generator::facts() const { return model_facts(inside_->model); }

}  // namespace jumok
