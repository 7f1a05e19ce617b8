// train(): from two text files to a trained model directory.
#include "base/error.h"
#include "base/file.h"
#include "gemm/worker_threads.h"
#include "models/model_files.h"
#include "report/training_page.h"
#include "text/lines.h"
#include "train/trainer.h"

namespace jumok {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
namespace {

void say(const TrainOptions& o, LogLevel level, const std::string& text) {
  if (o.log) o.log(level, text);
}

struct Configs {
  ModelConfig model;
  TrainConfig train;
};

// Both tables as one, so that --set finds every key.
Settings all_settings(Configs& c) {
  Settings all = model_settings(c.model);
  all.append(train_settings(c.train));
  return all;
}

// What does not fit together is said before any text is read.
void check_configs(const Configs& c) {
  c.model.validate();
  check(c.train.max_length < c.model.max_positions, "train.max-length = {}: expected less than positions.max = {}", c.train.max_length,
        c.model.max_positions);
}

SubwordKind subword_kind(const std::string& name) {
  constexpr std::pair<const char*, SubwordKind> kKinds[] = {
      {"unigram", SubwordKind::kUnigram}, {"bpe", SubwordKind::kBpe}, {"char", SubwordKind::kChar}, {"word", SubwordKind::kWord}};
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return kind;
  }
  fail("subwords \"{}\": expected unigram, bpe, char or word", name);
}

std::shared_ptr<const Subwords> given_subwords(const fs::path& path, bool lowercase) {
  try {
    return std::make_shared<const Subwords>(Subwords::from_bytes(read_file(path), lowercase));
  } catch (const Error& e) {
    fail("{}: {}", path.string(), e.what());
  }
}

std::shared_ptr<const Subwords> trained_subwords(const TrainOptions& o, std::span<const std::string> lines, const std::string& side) {
  SubwordOptions options;
  options.kind = subword_kind(o.subwords);
  options.vocabulary = o.vocabulary;
  options.lowercase = o.lowercase;
  auto subwords = std::make_shared<const Subwords>(Subwords::train(lines, options, o.log));
  say(o, LogLevel::kInfo, fmt::format("{} subword vocabulary: {} {} pieces", side, subwords->size(), o.subwords));
  return subwords;
}

SubwordPair make_subwords(const TrainOptions& o, const ParallelLines& text) {
  SubwordPair pair;
  if (!o.source_subwords.empty() || !o.target_subwords.empty()) {
    const fs::path& source = o.source_subwords.empty() ? o.target_subwords : o.source_subwords;
    const fs::path& target = o.target_subwords.empty() ? o.source_subwords : o.target_subwords;
    pair.source = given_subwords(source, o.lowercase);
    pair.target = source == target ? pair.source : given_subwords(target, o.lowercase);
  } else if (o.joint) {
    std::vector<std::string> both = text.source;
    both.insert(both.end(), text.target.begin(), text.target.end());
    pair.source = pair.target = trained_subwords(o, both, "joint");
  } else {
    pair.source = trained_subwords(o, text.source, "source");
    pair.target = trained_subwords(o, text.target, "target");
  }
  return pair;
}

// What --resume needs to go on from the model folder alone.
Json stored_options(const TrainOptions& o, Configs& configs) {
  Json j;
  j["preset"] = o.preset;
  j["source"] = fs::absolute(o.source).string();
  j["target"] = fs::absolute(o.target).string();
  j["valid_source"] = o.valid_source.empty() ? "" : fs::absolute(o.valid_source).string();
  j["valid_target"] = o.valid_target.empty() ? "" : fs::absolute(o.valid_target).string();
  j["seed"] = o.seed;
  j["max_seconds"] = o.max_seconds;
  j["max_epochs"] = o.max_epochs;
  j["max_updates"] = o.max_updates;
  j["settings"] = train_settings(configs.train).to_json();
  return j;
}

// The stored options; limits given now replace the stored ones.
TrainOptions resumed_options(const TrainOptions& now, Configs& configs) {
  Json j;
  configs.model = read_config(now.model, &j);
  TrainOptions o = now;
  const std::string where = (now.model / "config.json").string();
  try {
    o.preset = j.at("preset");
    o.source = j.at("source").get<std::string>();
    o.target = j.at("target").get<std::string>();
    o.valid_source = j.at("valid_source").get<std::string>();
    o.valid_target = j.at("valid_target").get<std::string>();
    o.seed = j.at("seed");
    if (now.max_seconds <= 0 && now.max_epochs <= 0 && now.max_updates <= 0) {
      o.max_seconds = j.at("max_seconds");
      o.max_epochs = j.at("max_epochs");
      o.max_updates = j.at("max_updates");
    }
    train_settings(configs.train).from_json(j.at("settings"), where + ": training.settings");
  } catch (const Json::exception&) {
    fail("{}: expected the options of a training run under \"training\", found none or damaged ones", where);
  }
  return o;
}

void check_fresh(const TrainOptions& o) {
  check(!o.source.empty() && !o.target.empty(), "training wants two files of parallel text: source and target");
  check(o.valid_source.empty() == o.valid_target.empty(), "validation wants both files, source and target, or none");
  std::error_code ignored;
  // A run that ended before its first checkpoint left a config and nothing worth keeping: it may simply be started again.
  const bool holds_work =
      fs::exists(o.model / "model.safetensors", ignored) || fs::exists(o.model / "checkpoint/state.safetensors", ignored);
  check(o.overwrite || !holds_work,
        "{}: a model is there already; go on with it (--resume), choose another folder, or replace it (--overwrite)", o.model.string());
}

// What an earlier run left: its parameters must not pass for the new model's, nor its checkpoint be resumed with the new settings. The
// config goes first: without it the rest is no model.
void remove_old_run(const fs::path& model) {
  make_folder(model);
  for (const char* name :
       {"config.json", "model.safetensors", "checkpoint/state.safetensors", "training.html", "joint.spm", "source.spm", "target.spm"}) {
    std::error_code error;
    fs::remove(model / name, error);
    check(!error, "{}: cannot be removed: {}", (model / name).string(), error.message());
  }
}

std::string data_summary(const ParallelCorpus& corpus) {
  const CorpusCounts& c = corpus.counts();
  int64_t source = 0, target = 0;
  for (const int32_t n : corpus.source_lengths()) source += n;
  for (const int32_t n : corpus.target_lengths()) target += n;
  return fmt::format("{} pairs of {} ({} empty, {} too long), {} source and {} target symbols", c.kept, c.read, c.empty, c.too_long, source,
                     target);
}

void write_page(const TrainOptions& o, const EncoderDecoder& model, const ParallelCorpus& corpus, const Trainer& trainer) {
  TrainingCurves curves = curves_of(trainer.events());
  curves.title = "Training of " + fs::absolute(o.model).lexically_normal().filename().string();
  curves.facts = {{"preset", o.preset}, {"parameters", std::to_string(model.layout().count())}, {"training data", data_summary(corpus)}};
  write_file(o.model / "training.html", training_page(curves));
}

TrainResult run_session(const TrainOptions& o, Configs& configs) {
  check_configs(configs);
  Workers workers(threads_or_cores(o.threads), prepare_model_thread);
  ParallelLines text = read_parallel(o.source, o.target, o.log);
  const SubwordPair subwords = o.resume ? read_subwords(o.model) : make_subwords(o, text);
  if (!o.resume) {
    configs.model.source_vocabulary = subwords.source->size();
    configs.model.target_vocabulary = subwords.target->size();
    if (!subwords.joint() && configs.model.tying == Tying::kAll) configs.model.tying = Tying::kTargetOutput;
  }
  const auto model = make_model(configs.model);
  const ParallelCorpus corpus =
      ParallelCorpus::build({text.source, text.target, *subwords.source, *subwords.target}, {configs.train.max_length}, &workers);
  text = {};  // from here on the symbols are all that is needed
  say(o, LogLevel::kInfo, "training data: " + data_summary(corpus));
  check(corpus.size() > 0, "{}: no pair of lines is left to train on", o.source.string());
  std::optional<ValidationSet> validation;
  if (!o.valid_source.empty()) {
    const ParallelLines valid = read_parallel(o.valid_source, o.valid_target, o.log);
    validation = make_validation_set(valid.source, valid.target, subwords, configs.train.max_length, workers);
    check(validation->corpus.size() > 0, "{}: no pair of lines is left to validate on", o.valid_source.string());
  }
  say(o, LogLevel::kInfo, fmt::format("{}: {} parameters", o.preset, model->layout().count()));
  if (!o.resume) {
    remove_old_run(o.model);
    write_config(o.model, configs.model, subwords, stored_options(o, configs));
  }
  Trainer trainer({*model, subwords, corpus, validation ? &*validation : nullptr, configs.train, o, workers});
  const TrainResult result = trainer.run();
  write_page(o, *model, corpus, trainer);
  return result;
}

}  // namespace

TrainResult train(const TrainOptions& options) {
  Configs configs;
  if (options.resume) {
    if (!options.settings.empty()) fail("--set {}: a resumed run keeps the settings it began with", options.settings.front());
    const TrainOptions resumed = resumed_options(options, configs);
    return run_session(resumed, configs);
  }
  check_fresh(options);
  configs.model = model_preset(options.preset);
  configs.train = training_preset(configs.model.architecture);
  Settings settings = all_settings(configs);
  for (const std::string& assignment : options.settings) settings.set_assignment(assignment, "--set");
  return run_session(options, configs);
}

std::vector<SettingInfo> list_settings(const std::string& preset) {
  Configs configs;
  configs.model = model_preset(preset);
  configs.train = training_preset(configs.model.architecture);
  std::vector<SettingInfo> list;
  const Settings settings = all_settings(configs);
  for (const Setting& s : settings.all()) list.push_back({s.key, s.get(), s.range, s.help});
  return list;
}

std::vector<std::string> list_presets() { return preset_names(); }

}  // namespace jumok
