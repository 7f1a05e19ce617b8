// jumok train: a translator from two files of sentences, or a language model from one.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <memory>

#include "commands.h"
#include "jumok/trainer.h"
#include "output.h"
#include "progress.h"

namespace jumok {
namespace {

std::atomic<bool> stop_requested{false};  // a signal handler may touch nothing else

// The first Ctrl-C asks the run to save and end; the second ends the program at once.
class StopOnInterrupt {
 public:
  StopOnInterrupt() : interrupt_(std::signal(SIGINT, handle)), terminate_(std::signal(SIGTERM, handle)) {}
  ~StopOnInterrupt() {
    std::signal(SIGINT, interrupt_);
    std::signal(SIGTERM, terminate_);
  }

 private:
  static void handle(int) {
    stop_requested = true;
    std::signal(SIGINT, SIG_DFL);
  }
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

std::string ending(TrainEnd end) {
  switch (end) {
    case TrainEnd::kTime:
      return "the time is over";
    case TrainEnd::kEpochs:
      return "the last epoch is done";
    case TrainEnd::kUpdates:
      return "the last update is done";
    case TrainEnd::kPatience:
      return "no better score for train.patience validations";
    case TrainEnd::kStopped:
      return "stopped";
  }
  return {};
}

struct Options {
  TrainOptions train;
  double max_minutes = 0;
  bool separate = false, list = false, quiet = false;
};

void print_settings(const std::string& preset) {
  for (const SettingInfo& s : list_settings(preset)) write_output(fmt::format("{} = {}   ({})   {}\n", s.key, s.value, s.range, s.help));
}

void show(Progress& bar, const TrainProgress& p) {
  if (p.validated) {
    const std::string quality = std::isnan(p.bleu) ? fmt::format("perplexity {:.3f}", std::exp(p.valid_loss))
                                                   : fmt::format("BLEU {:.1f}, chrF {:.1f}", p.bleu, p.chrf);
    bar.note(fmt::format("update {}: validation loss {:.3f}, {}{}", p.update, p.valid_loss, quality, p.is_best ? ", best so far" : ""));
  }
  bar.update(p.fraction,
             fmt::format("epoch {:.2f}  update {}  loss {:.3f}  {} tokens/s", p.epoch, p.update, p.loss, format_rate(p.tokens_per_second)));
}

int run(Options o) {
  if (o.list) {
    print_settings(o.train.preset);
    return 0;
  }
  const StopOnInterrupt guard;
  ProgressOptions bar_options;
  bar_options.label = "train";
  bar_options.total = o.max_minutes > 0 || o.train.max_epochs > 0 || o.train.max_updates > 0 || o.train.resume ? 1 : 0;
  bar_options.quiet = o.quiet;
  Progress bar(bar_options);
  o.train.max_seconds = 60 * o.max_minutes;
  o.train.joint = !o.separate;
  o.train.stop = &stop_requested;
  o.train.log = [&](LogLevel level, const std::string& text) { bar.note(level == LogLevel::kWarning ? "warning: " + text : text); };
  o.train.progress = [&](const TrainProgress& p) { show(bar, p); };
  const TrainResult result = train(o.train);
  const std::string model = o.train.model.string();
  bar.finish(1, ending(result.end));
  if (result.end == TrainEnd::kStopped) {
    bar.note(fmt::format("saved after update {}; go on with: jumok train --resume --model '{}'", result.updates, model));
    return 0;
  }
  bar.note(fmt::format("{}: {} updates, {} target symbols in {}; the curves: {}/training.html", model, result.updates, result.tokens,
                       format_duration(result.seconds), model));
  return 0;
}

// A translator learns from source and target, a language model from one text.
void check_files(const Options& o) {
  const TrainOptions& t = o.train;
  const auto refuse = [&](const char* option, bool given, const char* instead) {
    if (given) throw CLI::ValidationError(option, fmt::format("not with --preset {}; {}", t.preset, instead));
  };
  if (!learns_from_one_text(t.preset)) {
    refuse("--text", !t.text.empty(), "a translator learns from --source and --target");
    refuse("--valid-text", !t.valid_text.empty(), "it is validated with --valid-source and --valid-target");
    if (t.source.empty()) throw CLI::RequiredError("--source");
    if (t.target.empty()) throw CLI::RequiredError("--target");
    return;
  }
  refuse("--source", !t.source.empty(), "a language model learns from --text");
  refuse("--target", !t.target.empty(), "a language model learns from --text");
  refuse("--valid-source", !t.valid_source.empty(), "a language model is validated with --valid-text");
  refuse("--valid-target", !t.valid_target.empty(), "a language model is validated with --valid-text");
  refuse("--separate", o.separate, "a language model has one vocabulary");
  refuse("--target-subwords", !t.target_subwords.empty(), "a language model has one vocabulary, given with --source-subwords");
  if (t.text.empty()) throw CLI::RequiredError("--text");
}

// What is required depends on what is asked for.
void check_usage(const Options& o) {
  if (o.list) return;
  if (o.train.model.empty()) throw CLI::RequiredError("--model");
  if (o.train.resume && !o.train.settings.empty()) throw CLI::ExcludesError("--resume", "--set");
  // CLI11's ranges let "nan" pass: it is neither below nor above.
  if (!std::isfinite(o.max_minutes)) throw CLI::ValidationError("--max-time", "expected a number of minutes");
  if (o.train.resume && o.train.overwrite) throw CLI::ExcludesError("--resume", "--overwrite");
  if (!o.train.resume) check_files(o);
}

}  // namespace

void add_train(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("train", "Train a translator on parallel text, or a language model on one text");
  TrainOptions& t = o->train;
  sub->add_option("--source", t.source, "Source sentences, one a line (plain or .gz)");
  sub->add_option("--target", t.target, "Their translations, line by line");
  sub->add_option("--valid-source", t.valid_source, "Held-back source sentences for validation (default: none)");
  sub->add_option("--valid-target", t.valid_target, "Their translations");
  sub->add_option("--text", t.text, "Text for a language model instead, one a line (plain or .gz)");
  sub->add_option("--valid-text", t.valid_text, "Held-back text for its validation (default: none)");
  sub->add_option("--model", t.model, "Model directory to write (required, but for --list-settings)");
  sub->add_option("--preset", t.preset, "Shape of the model")->check(CLI::IsMember(list_presets()))->capture_default_str();
  sub->add_option("--set", t.settings, "key=value, over the preset's; --list-settings prints the keys; repeatable");
  sub->add_flag("--list-settings", o->list, "Print every setting of the preset with its value and range, and end");
  sub->add_option("--subwords", t.subwords, "Kind of subword model to train")
      ->check(CLI::IsMember({"unigram", "bpe", "char", "word"}))
      ->capture_default_str();
  sub->add_option("--vocabulary", t.vocabulary, "Pieces of each subword model; fewer where the text supports fewer")
      ->check(CLI::Range(8, 1000000))
      ->capture_default_str();
  sub->add_flag("--separate", o->separate, "One vocabulary a side instead of a joint one");
  sub->add_flag("--lowercase", t.lowercase, "Lowercase all text, in and out");
  sub->add_option("--source-subwords", t.source_subwords,
                  "SentencePiece model to use instead of a trained one (with --target-subwords for two)");
  sub->add_option("--target-subwords", t.target_subwords, "SentencePiece model of the target side");
  sub->add_option("--max-time", o->max_minutes, "Minutes of training; 0: no limit")->check(CLI::Range(0.0, 1e7))->capture_default_str();
  sub->add_option("--max-epochs", t.max_epochs, "Passes over the data; 0: no limit")->check(CLI::NonNegativeNumber)->capture_default_str();
  sub->add_option("--max-updates", t.max_updates, "Updates of the parameters; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub->add_option("--seed", t.seed, "Seed of first values, order and dropout")->capture_default_str();
  sub->add_option("--threads", t.threads, "Threads; 0: one a core. The result does not depend on it")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  sub->add_flag("--resume", t.resume, "Go on with the run in --model, with its stored options");
  sub->add_flag("--overwrite", t.overwrite, "Replace a model that is there");
  sub->add_option("--log-json", t.log_json, "Append progress as JSON lines to this file (default: only training.jsonl of the model)");
  sub->add_flag("--quiet", o->quiet, "No progress display");
  sub->callback([o, &command] {
    check_usage(*o);
    command = [o] { return run(*o); };
  });
}

}  // namespace jumok
