// train(): from text files to a trained model directory.
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
  bool pairs() const { return model.architecture != Architecture::kLanguageModel; }  // learns from source and target, or from one text
};

// Both tables as one, so that --set finds every key.
Settings all_settings(Configs& c) {
  Settings all = model_settings(c.model);
  all.append(train_settings(c.train, c.model.architecture));
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

// One text stands on the target side.
ParallelLines read_training_lines(const Configs& configs, const fs::path& source, const fs::path& target, const TrainOptions& o) {
  if (configs.pairs()) return read_parallel(source, target, o.log);
  ParallelLines text;
  text.target = read_lines(target, o.log);
  check(!text.target.empty(), "{}: expected lines of text, found none", target.string());
  return text;
}

SubwordPair make_subwords(const TrainOptions& o, const ParallelLines& text, bool pairs) {
  SubwordPair pair;
  if (!o.source_subwords.empty() || !o.target_subwords.empty()) {
    const fs::path& source = o.source_subwords.empty() ? o.target_subwords : o.source_subwords;
    const fs::path& target = o.target_subwords.empty() ? o.source_subwords : o.target_subwords;
    pair.source = given_subwords(source, o.lowercase);
    pair.target = source == target ? pair.source : given_subwords(target, o.lowercase);
    check(pairs || pair.joint(), "a language model has one subword model, found two: {} and {}", source.string(), target.string());
  } else if (!pairs) {
    pair.source = pair.target = trained_subwords(o, text.target, "text");
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
  const auto store = [&j](const char* key, const fs::path& path) { j[key] = path.empty() ? "" : fs::absolute(path).string(); };
  if (configs.pairs()) {
    store("source", o.source);
    store("target", o.target);
    store("valid_source", o.valid_source);
    store("valid_target", o.valid_target);
  } else {
    store("text", o.text);
    store("valid_text", o.valid_text);
  }
  j["seed"] = o.seed;
  j["max_seconds"] = o.max_seconds;
  j["max_epochs"] = o.max_epochs;
  j["max_updates"] = o.max_updates;
  j["settings"] = train_settings(configs.train, configs.model.architecture).to_json();
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
    const auto stored = [&j](const char* key) { return j.at(key).get<std::string>(); };
    if (configs.pairs()) {
      o.source = stored("source");
      o.target = stored("target");
      o.valid_source = stored("valid_source");
      o.valid_target = stored("valid_target");
    } else {
      o.text = stored("text");
      o.valid_text = stored("valid_text");
    }
    o.seed = j.at("seed");
    if (now.max_seconds <= 0 && now.max_epochs <= 0 && now.max_updates <= 0) {
      o.max_seconds = j.at("max_seconds");
      o.max_epochs = j.at("max_epochs");
      o.max_updates = j.at("max_updates");
    }
    train_settings(configs.train, configs.model.architecture).from_json(j.at("settings"), where + ": training.settings");
  } catch (const Json::exception&) {
    fail("{}: expected the options of a training run under \"training\", found none or damaged ones", where);
  }
  return o;
}

void check_files(const TrainOptions& o, bool pairs) {
  if (pairs) {
    check(o.text.empty() && o.valid_text.empty(), "preset {}: learns from source and target; one text is for language models", o.preset);
    check(!o.source.empty() && !o.target.empty(), "training wants two files of parallel text: source and target");
    check(o.valid_source.empty() == o.valid_target.empty(), "validation wants both files, source and target, or none");
  } else {
    check(o.source.empty() && o.target.empty() && o.valid_source.empty() && o.valid_target.empty(),
          "preset {}: a language model learns from one text, not from source and target", o.preset);
    check(!o.text.empty(), "training a language model wants a file of text");
  }
}

void check_fresh(const TrainOptions& o) {
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

std::string data_summary(const ParallelCorpus& corpus, const Configs& configs) {
  const CorpusCounts& c = corpus.counts();
  int64_t source = 0, target = 0;
  for (const int32_t n : corpus.source_lengths()) source += n;
  for (const int32_t n : corpus.target_lengths()) target += n;
  if (!configs.pairs()) {
    const std::string cut =
        c.cut > 0 ? fmt::format("; {} were longer than {} symbols and cut in pieces", c.cut, configs.train.max_length) : "";
    return fmt::format("{} texts of {} lines ({} empty{}), {} symbols", c.kept, c.read, c.empty, cut, target);
  }
  return fmt::format("{} pairs of {} ({} empty, {} too long), {} source and {} target symbols", c.kept, c.read, c.empty, c.too_long, source,
                     target);
}

void write_page(const TrainOptions& o, const EncoderDecoder& model, const std::string& data, const Trainer& trainer) {
  TrainingCurves curves = curves_of(trainer.events());
  curves.title = "Training of " + fs::absolute(o.model).lexically_normal().filename().string();
  curves.facts = {{"preset", o.preset}, {"parameters", std::to_string(model.layout().count())}, {"training data", data}};
  write_file(o.model / "training.html", training_page(curves));
}

ParallelCorpus build_corpus(const Configs& configs, const ParallelLines& text, const SubwordPair& subwords, Workers& workers) {
  const CorpusOptions options{configs.train.max_length, !configs.pairs()};
  if (!configs.pairs()) return ParallelCorpus::build_text(text.target, *subwords.target, options, &workers);
  return ParallelCorpus::build({text.source, text.target, *subwords.source, *subwords.target}, options, &workers);
}

std::optional<ValidationSet> read_validation(const TrainOptions& o, const Configs& configs, const SubwordPair& subwords, Workers& workers) {
  const fs::path& target = configs.pairs() ? o.valid_target : o.valid_text;
  if (target.empty()) return std::nullopt;
  const ParallelLines text = read_training_lines(configs, o.valid_source, target, o);
  const int longest = configs.train.max_length;
  ValidationSet set = configs.pairs() ? make_validation_set(text.source, text.target, subwords, longest, workers)
                                      : make_text_validation_set(text.target, *subwords.target, longest, workers);
  check(set.corpus.size() > 0, "{}: no {} is left to validate on", (configs.pairs() ? o.valid_source : target).string(),
        configs.pairs() ? "pair of lines" : "line");
  return set;
}

TrainResult run_session(const TrainOptions& o, Configs& configs) {
  check_configs(configs);
  Workers workers(threads_or_cores(o.threads), prepare_model_thread);
  ParallelLines text = read_training_lines(configs, o.source, configs.pairs() ? o.target : o.text, o);
  const SubwordPair subwords = o.resume ? read_subwords(o.model) : make_subwords(o, text, configs.pairs());
  if (!o.resume) {
    configs.model.source_vocabulary = subwords.source->size();
    configs.model.target_vocabulary = subwords.target->size();
    if (!subwords.joint() && configs.model.tying == Tying::kAll) configs.model.tying = Tying::kTargetOutput;
  }
  const auto model = make_model(configs.model);
  const ParallelCorpus corpus = build_corpus(configs, text, subwords, workers);
  text = {};  // from here on the symbols are all that is needed
  const std::string data = data_summary(corpus, configs);
  say(o, LogLevel::kInfo, "training data: " + data);
  check(corpus.size() > 0, "{}: no {} is left to train on", (configs.pairs() ? o.source : o.text).string(),
        configs.pairs() ? "pair of lines" : "line");
  const std::optional<ValidationSet> validation = read_validation(o, configs, subwords, workers);
  say(o, LogLevel::kInfo, fmt::format("{}: {} parameters", o.preset, model->layout().count()));
  if (!o.resume) {
    remove_old_run(o.model);
    write_config(o.model, configs.model, subwords, stored_options(o, configs));
  }
  Trainer trainer({*model, subwords, corpus, validation ? &*validation : nullptr, configs.train, o, workers});
  const TrainResult result = trainer.run();
  write_page(o, *model, data, trainer);
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
  configs.model = model_preset(options.preset);
  check_files(options, configs.pairs());
  check_fresh(options);
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

bool learns_from_one_text(const std::string& preset) { return model_preset(preset).architecture == Architecture::kLanguageModel; }

}  // namespace jumok
