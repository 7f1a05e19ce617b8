#include "train/session.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "train/replaced_model.h"

namespace jumok {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
namespace {

constexpr char kTiesAll[] = "embedding.tying = all: expected one joint vocabulary, found one a side; set embedding.tying=target-output";

// What does not fit together is said before any text is read.
void check_configs(const Configs& c) {
  c.model.validate();
  check(c.train.max_length < c.model.max_positions,
        "train.max-length = {}: expected less than positions.max = {}; set train.max-length={}, or positions.max={}", c.train.max_length,
        c.model.max_positions, c.model.max_positions - 1, c.train.max_length + 1);
}

// A path among the options, and its name in config.json.
struct TextField {
  const char* key;
  fs::path TrainOptions::*path;
};
using TextFields = std::vector<TextField>;

TextFields training_fields(bool pairs) {
  if (!pairs) return {{"text", &TrainOptions::text}};
  return {{"source", &TrainOptions::source}, {"target", &TrainOptions::target}};
}

TextFields validation_fields(bool pairs) {
  if (!pairs) return {{"valid_text", &TrainOptions::valid_text}};
  return {{"valid_source", &TrainOptions::valid_source}, {"valid_target", &TrainOptions::valid_target}};
}

bool names_none(const TrainOptions& o, const TextFields& fields) {
  return std::all_of(fields.begin(), fields.end(), [&](const TextField& f) { return (o.*f.path).empty(); });
}

bool names_all(const TrainOptions& o, const TextFields& fields) {
  return std::none_of(fields.begin(), fields.end(), [&](const TextField& f) { return (o.*f.path).empty(); });
}

// Files of the right kind of model, both sides or none.
// `what` the options belong to: the preset, or the folder of a resumed run.
void check_files(const TrainOptions& o, bool pairs, const std::string& what) {
  const bool other = !names_none(o, training_fields(!pairs)) || !names_none(o, validation_fields(!pairs));
  check(!other || !pairs, "{}: learns from source and target; one text is for language models", what);
  check(!other || pairs, "{}: a language model learns from one text, not from source and target", what);
  for (const TextFields& fields : {training_fields(pairs), validation_fields(pairs)}) {
    check(names_all(o, fields) || names_none(o, fields), "{} wants both files, source and target, or none",
          fields.front().path == &TrainOptions::source ? "training" : "validation");
  }
}

bool sets_tying(const TrainOptions& o) {
  return std::any_of(o.settings.begin(), o.settings.end(), [](const std::string& s) { return s.starts_with("embedding.tying="); });
}

void check_unused(const TrainOptions& o) {
  std::error_code ignored;
  // A run that ended before its first checkpoint left a config and nothing worth keeping: it may simply be started again.
  const bool holds_work = fs::exists(o.model / "model.safetensors", ignored) ||
                          fs::exists(o.model / "checkpoint/state.safetensors", ignored) || holds_replaced_model(o.model);
  check(o.overwrite || !holds_work,
        "{}: a model is there already; go on with it (--resume), choose another folder, or replace it (--overwrite)", o.model.string());
}

void store_texts(const TrainOptions& o, bool pairs, Json& j) {
  for (const TextFields& fields : {training_fields(pairs), validation_fields(pairs)}) {
    for (const TextField& f : fields) j[f.key] = (o.*f.path).empty() ? "" : fs::absolute(o.*f.path).string();
  }
}

void store_limits(const TrainOptions& o, Json& j) {
  j["max_seconds"] = o.max_seconds;
  j["max_epochs"] = o.max_epochs;
  j["max_updates"] = o.max_updates;
}

// What --resume needs to go on from the model folder alone.
Json stored_options(const TrainOptions& o, Configs& configs) {
  Json j;
  j["preset"] = o.preset;
  store_texts(o, configs.pairs(), j);
  j["seed"] = o.seed;
  store_limits(o, j);
  j["settings"] = train_settings(configs.train, configs.model.architecture).to_json();
  return j;
}

// The stored paths, unless all of `fields` are named now; gives whether they were taken.
bool take_texts(const Json& j, const TextFields& fields, TrainOptions& o) {
  if (names_all(o, fields)) return false;
  for (const TextField& f : fields) o.*f.path = j.at(f.key).get<std::string>();
  return true;
}

// The stored options; texts given now replace the stored ones, and any limit given now all of the stored limits.
void take_stored(Session& session, const std::string& where) {
  TrainOptions& o = session.options;
  const Json& j = session.stored;
  const bool pairs = session.configs.pairs();
  o.preset = j.at("preset");
  session.stored_text = take_texts(j, training_fields(pairs), o);
  TrainOptions began;
  take_texts(j, validation_fields(pairs), began);
  check(names_none(o, validation_fields(pairs)) || names_all(began, validation_fields(pairs)),
        "{}: the run began without validation and goes on without it", where);
  session.stored_validation = take_texts(j, validation_fields(pairs), o);
  o.seed = j.at("seed");
  if (o.max_seconds <= 0 && o.max_epochs <= 0 && o.max_updates <= 0) {
    o.max_seconds = j.at("max_seconds");
    o.max_epochs = j.at("max_epochs");
    o.max_updates = j.at("max_updates");
  }
  train_settings(session.configs.train, session.configs.model.architecture).from_json(j.at("settings"), where + ": training.settings");
}

}  // namespace

Settings all_settings(Configs& c) {
  Settings all = model_settings(c.model);
  all.append(train_settings(c.train, c.model.architecture));
  return all;
}

Configs new_configs(const std::string& preset, const std::vector<std::string>& assignments) {
  Configs configs;
  configs.model = model_preset(preset);
  configs.train = training_preset(configs.model.architecture);
  Settings settings = all_settings(configs);
  for (const std::string& assignment : assignments) settings.set_assignment(assignment, "--set");
  check_configs(configs);
  return configs;
}

SubwordKind subword_kind(const std::string& name) {
  constexpr std::pair<const char*, SubwordKind> kKinds[] = {
      {"unigram", SubwordKind::kUnigram}, {"bpe", SubwordKind::kBpe}, {"char", SubwordKind::kChar}, {"word", SubwordKind::kWord}};
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return kind;
  }
  fail("subwords \"{}\": expected unigram, bpe, char or word", name);
}

void untie_source(const TrainOptions& o, ModelConfig& config) {
  if (config.tying != Tying::kAll) return;
  check(!sets_tying(o), kTiesAll);
  config.tying = Tying::kTargetOutput;
  if (o.log) o.log(LogLevel::kInfo, "embedding.tying = target-output: source and target have vocabularies of their own");
}

// 0 is no limit; a limit that went below, or is no number, is not.
void check_limits(const TrainOptions& o) {
  check(o.max_seconds >= 0, "seconds of training: expected 0 (no limit) or more, found {}", o.max_seconds);
  check(o.max_epochs >= 0, "epochs: expected 0 (no limit) or more, found {}", o.max_epochs);
  check(o.max_updates >= 0, "updates: expected 0 (no limit) or more, found {}", o.max_updates);
}

// Of a new run and a resumed one.
void check_run(const TrainOptions& o) {
  check_limits(o);
  check(!o.model.empty(), "model: expected a folder, found none");
  check(o.threads >= 0, "threads = {}: expected 0 (one a core) or more", o.threads);
}

void check_train_options(const TrainOptions& o) {
  check_run(o);
  const Configs configs = new_configs(o.preset, o.settings);
  const bool pairs = configs.pairs();
  check_files(o, pairs, "preset " + o.preset);
  check(names_all(o, training_fields(pairs)), "{}",
        pairs ? "training wants two files of parallel text: source and target" : "training a language model wants a file of text");
  check(!o.resume, "a resumed run has no options of a new one");
  check(!o.source_subwords.empty() || o.vocabulary >= 1, "vocabulary = {}: expected 1 or more", o.vocabulary);
  subword_kind(o.subwords);
  check(o.target_subwords.empty() || !o.source_subwords.empty(), "a subword model of the target side wants one of the source side too");
  const bool one_given = o.target_subwords.empty() || o.target_subwords == o.source_subwords;
  check(pairs || one_given, "a language model has one subword model, found two: {} and {}", o.source_subwords.string(),
        o.target_subwords.string());
  const bool joint = !pairs || (o.source_subwords.empty() ? o.joint : one_given);
  check(joint || configs.model.tying != Tying::kAll || !sets_tying(o), kTiesAll);
}

Session fresh_session(const TrainOptions& o) {
  check_train_options(o);
  Session session{o, new_configs(o.preset, o.settings), {}};
  check_unused(o);
  return session;
}

Session resumed_session(const TrainOptions& now) {
  if (!now.settings.empty()) fail("--set {}: a resumed run keeps the settings it began with", now.settings.front());
  check_run(now);
  check(!now.overwrite, "a resumed run goes on with the model that is there: expected no overwriting");
  Session session{now, {}, {}};
  session.configs.model = read_config(now.model, &session.stored);
  check_files(now, session.configs.pairs(), now.model.string());
  const std::string where = (now.model / "config.json").string();
  try {
    take_stored(session, where);
  } catch (const Json::exception&) {
    fail("{}: expected the options of a training run under \"training\", found none or damaged ones", where);
  }
  check_configs(session.configs);
  return session;
}

void write_session(Session& session, const SubwordPair& subwords) {
  const TrainOptions& o = session.options;
  if (o.resume) {
    const Json before = session.stored;
    store_texts(o, session.configs.pairs(), session.stored);
    store_limits(o, session.stored);
    if (session.stored == before) return;
  } else {
    check_unused(o);  // still: another training may have ended there since
    set_aside_model(o.model);
    session.stored = stored_options(o, session.configs);
  }
  write_config(o.model, session.configs.model, subwords, session.stored);
}

std::vector<SettingInfo> list_settings(const std::string& preset, const std::vector<std::string>& settings) {
  Configs configs = new_configs(preset, settings);
  std::vector<SettingInfo> list;
  const Settings all = all_settings(configs);
  for (const Setting& s : all.all()) list.push_back({s.key, s.get(), s.range, s.help});
  return list;
}

bool learns_from_one_text(const std::string& preset) { return model_preset(preset).architecture == Architecture::kLanguageModel; }

std::vector<std::string> list_presets() { return preset_names(); }

}  // namespace jumok
