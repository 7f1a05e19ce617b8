// train(): from text files to a trained model directory.
#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/float_mode.h"
#include "base/workers.h"
#include "models/model_files.h"
#include "report/training_page.h"
#include "text/lines.h"
#include "train/session.h"
#include "train/trainer.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

void say(const TrainOptions& o, LogLevel level, const std::string& text) {
  if (o.log) o.log(level, text);
}

std::shared_ptr<const Subwords> given_subwords(const fs::path& path, bool lowercase) {
  return std::make_shared<const Subwords>(Subwords::from_bytes(read_file(path), lowercase, path.string()));
}

// `side`: "joint"; `where` the lines come from.
std::shared_ptr<const Subwords> trained_subwords(const TrainOptions& o, std::span<const std::string> lines, const std::string& side,
                                                 const std::string& where) {
  SubwordOptions options;
  options.kind = subword_kind(o.subwords);
  options.vocabulary = o.vocabulary;
  options.lowercase = o.lowercase;
  std::shared_ptr<const Subwords> subwords;
  try {
    subwords = std::make_shared<const Subwords>(Subwords::train(lines, options, o.log));
  } catch (const Error& e) {
    fail("{}: {}", where, e.what());
  }
  say(o, LogLevel::kInfo, fmt::format("{} subword vocabulary: {} {} pieces", side, subwords->size(), o.subwords));
  return subwords;
}

// One text stands on the target side.
ParallelLines read_kind(const Configs& configs, const fs::path& source, const fs::path& target, const LogSink& log) {
  if (configs.pairs()) return read_parallel(source, target, log);
  ParallelLines text;
  text.target = read_lines(target, log);
  check(!text.target.empty(), "{}: expected lines of text, found none", target.string());
  return text;
}

// `stored`: the paths come from the folder of a resumed run, and its user may not know them.
ParallelLines read_text(const Session& session, const fs::path& source, const fs::path& target, bool stored) {
  const TrainOptions& o = session.options;
  try {
    return read_kind(session.configs, source, target, o.log);
  } catch (const Error& e) {
    if (!o.resume || !stored) throw;
    fail("{} (as {} has it; texts that have moved can be named anew)", e.what(), (o.model / "config.json").string());
  }
}

SubwordPair make_subwords(const TrainOptions& o, const ParallelLines& text, bool pairs) {
  SubwordPair pair;
  if (!o.source_subwords.empty()) {
    pair.source = pair.target = given_subwords(o.source_subwords, o.lowercase);
    const bool two = !o.target_subwords.empty() && o.target_subwords != o.source_subwords;
    if (two) pair.target = given_subwords(o.target_subwords, o.lowercase);
  } else if (!pairs) {
    pair.source = pair.target = trained_subwords(o, text.target, "text", o.text.string());
  } else if (o.joint) {
    std::vector<std::string> both = text.source;
    both.insert(both.end(), text.target.begin(), text.target.end());
    pair.source = pair.target = trained_subwords(o, both, "joint", o.source.string() + " and " + o.target.string());
  } else {
    pair.source = trained_subwords(o, text.source, "source", o.source.string());
    pair.target = trained_subwords(o, text.target, "target", o.target.string());
  }
  return pair;
}

SubwordPair subwords_of(Session& session, const ParallelLines& text) {
  const TrainOptions& o = session.options;
  if (o.resume) return read_subwords(o.model);
  SubwordPair subwords = make_subwords(o, text, session.configs.pairs());
  ModelConfig& config = session.configs.model;
  config.source_vocabulary = subwords.source->size();
  config.target_vocabulary = subwords.target->size();
  if (!subwords.joint()) untie_source(o, config);
  return subwords;
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

// 2349568 as 2 349 568.
std::string grouped(int64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, "\u202f");  // a narrow space that does not break
  return digits;
}

void write_page(const TrainOptions& o, const EncoderDecoder& model, const std::string& data, const Trainer& trainer) {
  TrainingCurves curves = curves_of(trainer.events());
  curves.title = "Training of " + folder_name(o.model);
  curves.facts = {{"preset", o.preset}, {"parameters", grouped(model.layout().count())}, {"training data", data}};
  write_file(o.model / "training.html", training_page(curves));
}

ParallelCorpus build_corpus(const Configs& configs, const ParallelLines& text, const SubwordPair& subwords, Workers& workers) {
  const CorpusOptions options{configs.train.max_length, !configs.pairs()};
  if (!configs.pairs()) return ParallelCorpus::build_text(text.target, *subwords.target, options, &workers);
  return ParallelCorpus::build({text.source, text.target, *subwords.source, *subwords.target}, options, &workers);
}

// A side that is hardly known (another language's subword model, a vocabulary of few words) trains a model that says hardly anything.
void warn_of_unknown(const TrainOptions& o, const ParallelCorpus& corpus, bool pairs) {
  const auto look = [&](const fs::path& path, auto&& symbols_of) {
    int64_t all = 0, unknown = 0;
    for (int i = 0; i < corpus.size(); ++i) {
      const auto symbols = symbols_of(i);
      all += static_cast<int64_t>(symbols.size());
      unknown += std::count(symbols.begin(), symbols.end(), kUnknown);
    }
    constexpr double kWarnFrom = 0.02;
    const double share = static_cast<double>(unknown) / static_cast<double>(std::max<int64_t>(1, all));
    if (share < kWarnFrom) return;
    say(o, LogLevel::kWarning,
        fmt::format("{}: {:.1f} % of its symbols are unknown to the vocabulary: the model will know nothing of them", path.string(),
                    100 * share));
  };
  if (pairs) look(o.source, [&](int i) { return corpus.source(i); });
  look(pairs ? o.target : o.text, [&](int i) { return corpus.target(i); });
}

void check_left(const ParallelCorpus& corpus, const Configs& configs, const fs::path& file, const char* use) {
  if (!configs.pairs()) return check(corpus.size() > 0, "{}: no line is left to {} on: all are empty", file.string(), use);
  check(corpus.size() > 0, "{}: no pair of lines is left to {} on: each has a side that is empty or longer than train.max-length = {}",
        file.string(), use, configs.train.max_length);
}

// Empty without validation.
ParallelLines read_validation_text(const Session& session) {
  const TrainOptions& o = session.options;
  const fs::path& target = session.configs.pairs() ? o.valid_target : o.valid_text;
  return target.empty() ? ParallelLines() : read_text(session, o.valid_source, target, session.stored_validation);
}

std::optional<ValidationSet> make_validation(const Session& session, const ParallelLines& text, const SubwordPair& subwords,
                                             Workers& workers) {
  const TrainOptions& o = session.options;
  const Configs& configs = session.configs;
  if (text.target.empty()) return std::nullopt;
  const int longest = configs.train.max_length;
  ValidationSet set = configs.pairs() ? make_validation_set(text.source, text.target, subwords, longest, workers)
                                      : make_text_validation_set(text.target, *subwords.target, longest, workers);
  check_left(set.corpus, configs, configs.pairs() ? o.valid_source : o.valid_text, "validate");
  return set;
}

// Said before hours of work, not after. A log inside the model folder has its place as soon as that is made.
void check_places(const TrainOptions& o) {
  check_folder_place(o.model);
  if (o.log_json.empty()) return;
  std::error_code ignored;
  const fs::path log_folder = fs::absolute(o.log_json).lexically_normal().parent_path();
  check(fs::weakly_canonical(o.log_json, ignored) != fs::weakly_canonical(o.model / "training.jsonl", ignored),
        "{}: expected another file, the run's own events stand there", o.log_json.string());
  const bool in_model = log_folder == (fs::absolute(o.model) / "").lexically_normal().parent_path();
  if (!in_model || fs::exists(log_folder, ignored)) check_file_place(o.log_json);
}

}  // namespace

TrainResult train(const TrainOptions& options) {
  Session session = options.resume ? resumed_session(options) : fresh_session(options);
  const TrainOptions& o = session.options;
  const Configs& configs = session.configs;
  check_places(o);
  FolderLock lock;  // of a folder that is there already; one that is not is held when it is made
  lock.hold(o.model, "training");
  Workers workers(threads_or_cores(o.threads), flush_denormals);
  ParallelLines text = read_text(session, o.source, configs.pairs() ? o.target : o.text, session.stored_text);
  const ParallelLines validation_text = read_validation_text(session);  // before the minutes that a vocabulary may take
  const SubwordPair subwords = subwords_of(session, text);
  const auto model = make_model(configs.model);
  const ParallelCorpus corpus = build_corpus(configs, text, subwords, workers);
  text = {};  // from here on the symbols are all that is needed
  const std::string data = data_summary(corpus, configs);
  say(o, LogLevel::kInfo, "training data: " + data);
  check_left(corpus, configs, configs.pairs() ? o.source : o.text, "train");
  warn_of_unknown(o, corpus, configs.pairs());
  const std::optional<ValidationSet> validation = make_validation(session, validation_text, subwords, workers);
  say(o, LogLevel::kInfo, fmt::format("{}: {} parameters", o.preset, model->layout().count()));
  if (o.begin) o.begin();
  if (o.stop != nullptr && o.stop->load()) return {.end = TrainEnd::kStopped};  // given up: what is there stays as it is
  make_folder(o.model);
  lock.hold(o.model, "training");
  if (!o.resume) write_session(session, subwords);
  Trainer trainer({*model, subwords, corpus, validation ? &*validation : nullptr, configs.train, o, workers});
  if (o.resume) write_session(session, subwords);  // only now it is known that the data is what the run began with
  const TrainResult result = trainer.run();
  write_page(o, *model, data, trainer);
  return result;
}

}  // namespace jumok
