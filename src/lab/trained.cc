#include "lab/trained.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/float_mode.h"
#include "base/workers.h"
#include "jumok/aligner.h"
#include "jumok/metrics.h"
#include "jumok/trainer.h"
#include "lab/timing.h"
#include "models/model_files.h"
#include "train/lanes.h"
#include "translate/word_alignment.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// A name that is safe as a folder's.
std::string folder_name(const std::string& name) {
  std::string safe;
  for (const char c : name) safe += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '-';
  return safe;
}

// Updates between what is done so many `times` in a training; a fixed number where time ends it, since nobody knows how many it will be.
int64_t updates_between(const TrainingBudget& budget, int64_t times) {
  constexpr int64_t kByTime = 50;
  return budget.updates > 0 ? std::max<int64_t>(1, budget.updates / times) : kByTime;
}

// All settings of a training, over its preset's.
std::vector<std::string> settings_of(const Contender& contender, const TrainingBudget& budget) {
  // The last few sets are averaged, close together: a short run's parameters are still on their way.
  std::vector<std::string> settings = {fmt::format("train.batch-tokens={}", budget.batch_tokens),
                                       fmt::format("average.every={}", updates_between(budget, 40)), "average.last=4"};
  if (budget.width > 0) settings.push_back(fmt::format("model.width={}", budget.width));
  // A short training warms up soon; a narrow model bears a high rate. Wider ones keep their preset's.
  constexpr int kNarrow = 128, kWarmUp = 1000;
  if (budget.updates > 0) settings.push_back(fmt::format("train.warm-up={}", std::clamp<int64_t>(budget.updates / 5, 1, kWarmUp)));
  if (budget.width > 0 && budget.width <= kNarrow) settings.push_back("train.rate=0.005");
  settings.insert(settings.end(), contender.settings.begin(), contender.settings.end());
  settings.insert(settings.end(), budget.settings.begin(), budget.settings.end());
  return settings;
}

bool has_attention_over_source(const EncoderDecoder& model) { return !model.source_attentions().empty(); }

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "jumok-lab-XXXXXX").string();
  check(mkdtemp(name.data()) != nullptr, "{}: a temporary folder cannot be made there", fs::temp_directory_path().string());
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

LabText TrainingPlan::text() const {
  if (files.given()) return file_text(files, test_pairs);
  return task_text({task, 3, 12, run.seed, false}, training_pairs, test_pairs);
}

TrainingBudget TrainingPlan::budget() const {
  TrainingBudget b;
  b.updates = seconds > 0 ? 0 : updates;
  b.seconds = seconds;
  b.width = width;
  b.batch_tokens = batch_tokens;
  if (files.given()) b.subwords = subwords, b.vocabulary = vocabulary;
  b.settings = settings;
  return b;
}

void TrainingPlan::refuse_setting(std::string_view key, std::string_view instead) const {
  for (const std::string& setting : settings) {
    check(setting.substr(0, setting.find('=')) != key, "setting {}: the models that are compared differ in it; {}", setting, instead);
  }
}

std::vector<Contender> choose_contenders(const std::vector<Contender>& all, const std::vector<std::string>& names) {
  if (names.empty()) return all;
  std::vector<Contender> chosen;
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Contender& c) { return c.name == name; });
    if (found == all.end()) {
      std::vector<std::string> known;
      for (const Contender& c : all) known.push_back('"' + c.name + '"');
      fail("mechanism \"{}\": expected one of {}", name, fmt::join(known, ", "));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

void check_contenders(const std::vector<Contender>& contenders, const TrainingBudget& budget) {
  for (const Contender& c : contenders) {
    try {
      list_settings(c.preset, settings_of(c, budget));
    } catch (const Error& error) {
      fail("{}: {}", c.name, error.what());
    }
  }
}

TrainingGround::TrainingGround(const LabText& text, const TrainingBudget& budget, const LabRun& run)
    : text_(text), budget_(budget), run_(run) {
  write_file(folder_.path() / "source", joined(text.source));
  write_file(folder_.path() / "target", joined(text.target));
}

Trained TrainingGround::train(const Contender& contender, double begin, double end) const {
  TrainOptions o;
  o.source = folder_.path() / "source";
  o.target = folder_.path() / "target";
  o.model = folder_.path() / folder_name(contender.name);
  o.preset = contender.preset;
  o.subwords = budget_.subwords;
  o.vocabulary = budget_.vocabulary;
  o.max_updates = budget_.updates;
  o.max_seconds = budget_.seconds;
  o.seed = run_.seed;
  o.threads = run_.threads;
  o.overwrite = true;
  o.settings = settings_of(contender, budget_);

  Trained trained;
  trained.contender = contender;
  trained.model = o.model;
  trained.settings = o.settings;
  std::vector<double> rates;
  o.progress = [&](const TrainProgress& p) {
    if (p.update % updates_between(budget_, 60) == 0 || p.update <= 1)
      trained.curve.push_back({static_cast<double>(p.update), p.seconds, p.loss});
    rates.push_back(p.tokens_per_second);
    run_.tell(begin + (end - begin) * p.fraction, fmt::format("{}: update {}, loss {:.3f}", contender.name, p.update, p.loss));
  };
  const TrainResult result = jumok::train(o);
  trained.parameters = result.parameters;
  trained.updates = result.updates;
  trained.seconds = result.seconds;
  trained.tokens_per_second = spread_of({rates.begin() + static_cast<long>(rates.size() / 2), rates.end()}).median;
  measure(trained);
  return trained;
}

// What its settings made of it; the activations of one update's sentences on one thread, as training computes them.
void TrainingGround::measure(Trained& trained) const {
  const LoadedModel m = load_model(trained.model);
  TrainConfig config = training_preset(m.config.architecture);
  train_settings(config, m.config.architecture).from_json(m.training.at("settings"), trained.model.string());
  trained.width = m.config.width;
  trained.batch_tokens = config.batch_tokens;
  config.lanes = 1;
  Workers workers(1, flush_denormals);
  const size_t lines = std::min(text_.source.size(), static_cast<size_t>(config.batch_tokens) / 4 + 1);
  const ParallelCorpus corpus = ParallelCorpus::build(
      {std::span(text_.source).first(lines), std::span(text_.target).first(lines), *m.subwords.source, *m.subwords.target},
      {config.max_length, false}, &workers);
  std::vector<int32_t> batch;
  for (int64_t i = 0, tokens = 0; i < corpus.size() && tokens < config.batch_tokens; ++i) {
    batch.push_back(static_cast<int32_t>(i));
    tokens += corpus.target_lengths()[static_cast<size_t>(i)] + 1;
  }
  Lanes lanes(*m.model, corpus, config, 1, workers);
  lanes.gradients(m.parameters->data(), batch, 0);
  trained.activation_bytes = lanes.peak_arena_bytes();
}

namespace {

// The longest output to search for: 0, the search's own limit (twice the source and 10), unless a reference would not fit.
int longest_output(const SubwordPair& subwords, const LabText& text) {
  size_t longest = 0;
  bool fits = true;
  for (size_t i = 0; i < text.test_source.size(); ++i) {
    const size_t source = subwords.source->encode(text.test_source[i]).ids.size();
    const size_t target = subwords.target->encode(text.test_target[i]).ids.size();
    longest = std::max(longest, target);
    fits = fits && target <= 2 * source + 10;
  }
  return fits ? 0 : static_cast<int>(longest) + 10;
}

std::string attention_name(const AttentionChoice& choice, const Aligner& aligner) {
  std::string text;
  if (aligner.layers() > 1) text += fmt::format("layer {}, ", alignment_layer(choice.layer, aligner.layers()));
  if (aligner.heads() > 1) text += choice.head < 0 ? "mean, " : fmt::format("head {}, ", choice.head);
  return text + (choice.step == AttentionStep::kInput ? "input" : "output");
}

void judge_alignment(Quality& q, const Aligner& aligner, const LabText& text) {
  AlignOptions options;
  if (!text.choice.links.empty()) {
    TrialOptions trial;
    trial.judged = text.judged;
    options.attention = best_trial(aligner.try_attentions(text.choice.source, text.choice.target, text.choice.links, trial)).attention;
  }
  std::vector<std::vector<AlignmentLink>> links;
  for (Alignment& a : aligner.align(text.test_source, text.test_target, options)) links.push_back(std::move(a.links));
  q.aer = alignment_error_rate(links, text.gold, text.judged).error_rate;
  q.attention = options.attention;
  q.attention_name = attention_name(options.attention, aligner);
}

}  // namespace

Quality judge(const fs::path& model, const LabText& text, int threads) {
  const Translator translator(model, {threads, {}});
  TranslateOptions search;
  search.beam = 1;
  search.max_length = longest_output(read_subwords(model), text);
  Quality q;
  size_t equal = 0;
  for (const auto& list : translator.translate(text.test_source, search)) {
    q.outputs.push_back(list.front().text);
    equal += q.outputs.back() == text.test_target[q.outputs.size() - 1] ? 1 : 0;
  }
  q.exact = static_cast<double>(equal) / static_cast<double>(q.outputs.size());
  q.bleu = bleu(q.outputs, text.test_target).score;
  q.chrf = chrf(q.outputs, text.test_target).score;
  double log_prob = 0;
  int64_t tokens = 0;
  for (const PairScore& s : translator.score(text.test_source, text.test_target)) log_prob += s.log_prob, tokens += s.tokens;
  q.loss = tokens > 0 ? -log_prob / static_cast<double>(tokens) : 0;
  q.aer = std::numeric_limits<double>::quiet_NaN();
  if (text.gold.empty() || !has_attention_over_source(*load_model(model).model)) return q;
  judge_alignment(q, Aligner(model, {threads, {}}), text);
  return q;
}

AlignmentPicture alignment_picture(const fs::path& model, const std::string& source, const std::string& target,
                                   const AttentionChoice& attention) {
  if (!has_attention_over_source(*load_model(model).model)) return {};
  AlignOptions options;
  options.attention = attention;
  const Alignment a = Aligner(model).align(std::vector{source}, std::vector{target}, options).front();
  return {a.source_words, a.target_words, a.weights};
}

}  // namespace jumok
