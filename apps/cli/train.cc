// jumok train: a translator from two files of sentences, or a language model from one.
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "commands.h"
#include "jumok/trainer.h"
#include "output.h"
#include "progress.h"
#include "usage.h"
#include "values.h"

namespace jumok {
namespace {

std::atomic<bool> stop_requested{false};  // a signal handler may touch nothing else
std::atomic<int> stopping_signal{0};

// While it is there, the first Ctrl-C (or SIGTERM) asks the run to save and end; the second ends the program at once.
class StopOnInterrupt {
 public:
  StopOnInterrupt() : interrupt_(std::signal(SIGINT, handle)), terminate_(std::signal(SIGTERM, handle)) {}
  ~StopOnInterrupt() {
    std::signal(SIGINT, interrupt_);
    std::signal(SIGTERM, terminate_);
  }

 private:
  static void handle(int number) {
    stopping_signal = number;
    stop_requested = true;
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
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

void print_settings(const TrainOptions& o) {
  for (const SettingInfo& s : list_settings(o.preset, o.settings))
    write_output(fmt::format("{} = {}   ({})   {}\n", s.key, s.value, s.range, s.help));
}

void show(Progress& bar, const TrainProgress& p) {
  if (p.validated) {
    const std::string quality = std::isnan(p.bleu) ? fmt::format("perplexity {:.3f}", std::exp(p.valid_loss))
                                                   : fmt::format("BLEU {:.1f}, chrF {:.1f}", p.bleu, p.chrf);
    bar.note(fmt::format("update {}: validation loss {:.3f}, {}{}", p.update, p.valid_loss, quality, p.is_best ? ", best so far" : ""));
  }
  bar.update(p.fraction,
             fmt::format("loss {:.3f}  {} tokens/s  update {}  epoch {:.2f}", p.loss, format_rate(p.tokens_per_second), p.update, p.epoch));
}

int run(Options o) {
  if (o.list) {
    print_settings(o.train);
    return 0;
  }
  std::optional<StopOnInterrupt> guard;  // until there is something to save, a signal ends the program, whatever works at that moment
  ProgressOptions bar_options;
  bar_options.label = "train";
  bar_options.total = o.max_minutes > 0 || o.train.max_epochs > 0 || o.train.max_updates > 0 || o.train.resume ? 1 : 0;
  bar_options.quiet = o.quiet;
  Progress bar(bar_options);
  o.train.begin = [&] { guard.emplace(); };
  o.train.stop = &stop_requested;
  o.train.log = [&](LogLevel level, const std::string& text) { bar.note(level == LogLevel::kWarning ? "jumok: " + text : text); };
  o.train.progress = [&, resumed = o.train.resume](const TrainProgress& p) mutable {
    if (std::exchange(resumed, false)) bar.resume(p.fraction);
    show(bar, p);
  };
  const TrainResult result = train(o.train);
  const std::string model = o.train.model.string();
  bar.finish(1, ending(result.end));
  if (result.end == TrainEnd::kStopped) {
    bar.note(fmt::format("saved after update {}; go on with: jumok train --resume --model '{}'", result.updates, model));
    return 128 + stopping_signal;  // as a shell reports a program that the signal ended: a script must not take this model for finished
  }
  bar.note(fmt::format("{}: {} updates, {} target symbols in {}; the curves: {}/training.html", model, result.updates, result.tokens,
                       format_duration(result.seconds), model));
  return 0;
}

// Options that would be ignored are refused: `reason` says why they say nothing here.
void refuse(const CLI::App& sub, std::initializer_list<const char*> names, const std::string& reason) {
  for (const char* name : names) {
    if (sub.count(name) > 0) throw CLI::ValidationError(name, reason);
  }
}

// A translator learns from source and target, a language model from one text.
void check_files(const CLI::App& sub, const TrainOptions& t) {
  const bool pairs = !learns_from_one_text(t.preset);
  const auto refuse_all = [&](std::initializer_list<const char*> names, const char* instead) {
    refuse(sub, names, fmt::format("not with --preset {}; {}", t.preset, instead));
  };
  if (pairs) {
    refuse_all({"--text"}, "a translator learns from --source and --target");
    refuse_all({"--valid-text"}, "it is validated with --valid-source and --valid-target");
    if (t.source.empty()) throw CLI::RequiredError("--source");
    if (t.target.empty()) throw CLI::RequiredError("--target");
    return;
  }
  refuse_all({"--source", "--target"}, "a language model learns from --text");
  refuse_all({"--valid-source", "--valid-target"}, "a language model is validated with --valid-text");
  refuse_all({"--separate"}, "a language model has one vocabulary");
  refuse_all({"--target-subwords"}, "a language model has one vocabulary, given with --source-subwords");
  if (t.text.empty()) throw CLI::RequiredError("--text");
}

void check_new_run(const CLI::App& sub, const TrainOptions& t) {
  check_files(sub, t);
  if (t.source_subwords.empty() && !t.target_subwords.empty()) {
    throw CLI::ValidationError("--target-subwords", "expected --source-subwords too; that option alone is for one joint model");
  }
  if (!t.source_subwords.empty()) {
    refuse(sub, {"--subwords", "--vocabulary", "--separate"}, "not with --source-subwords, which brings a vocabulary of its own");
  }
}

// What is required depends on what is asked for.
void check_usage(const CLI::App& sub, const Options& o) {
  const TrainOptions& t = o.train;
  if (o.list) {
    as_usage([&] { list_settings(t.preset, t.settings); });
    return;
  }
  if (t.model.empty()) throw CLI::RequiredError("--model");
  if (!t.resume) check_new_run(sub, t);
  if (t.source.empty() != t.target.empty()) throw CLI::RequiredError(t.source.empty() ? "--source" : "--target");
  if (t.valid_source.empty() != t.valid_target.empty()) {
    throw CLI::RequiredError(t.valid_source.empty() ? "--valid-source" : "--valid-target");
  }
  if (!t.resume) return as_usage([&] { check_train_options(t); });
  refuse(sub,
         {"--preset", "--set", "--subwords", "--vocabulary", "--separate", "--lowercase", "--source-subwords", "--target-subwords",
          "--seed", "--overwrite"},
         "not with --resume: the run keeps what it began with");
}

void add_text_options(CLI::App& sub, TrainOptions& t) {
  sub.add_option("--source", t.source, "Source sentences, one a line (.gz too)")->type_name("FILE");
  sub.add_option("--target", t.target, "Their translations, line by line")->type_name("FILE");
  sub.add_option("--valid-source", t.valid_source,
                 "Held-back source sentences for validation; without any the mean of the last parameters is kept")
      ->type_name("FILE");
  sub.add_option("--valid-target", t.valid_target, "Their translations")->type_name("FILE");
  sub.add_option("--text", t.text, "For a language model instead: its text, a line each (.gz too)")->type_name("FILE");
  sub.add_option("--valid-text", t.valid_text, "Held-back text for its validation")->type_name("FILE");
}

void add_model_options(CLI::App& sub, Options& o) {
  TrainOptions& t = o.train;
  sub.add_option("--model", t.model, "Model directory to write; always needed, but for --list-settings")->type_name("DIR");
  sub.add_option("--preset", t.preset, "Shape of the model")->check(one_of(list_presets()))->type_name("NAME");
  sub.add_option("--set", t.settings, "A setting over the preset's; --list-settings shows all of them; repeatable")->type_name("KEY=VALUE");
  sub.add_flag("--list-settings", o.list, "Print every setting of the preset, --set applied, with its value and range, and end");
  sub.add_option("--subwords", t.subwords, "Kind of subword model to train")
      ->check(one_of({"unigram", "bpe", "char", "word"}))
      ->type_name("NAME");
  sub.add_option("--vocabulary", t.vocabulary, "Pieces of each subword model; fewer where the text supports fewer")
      ->check(whole(8, 1000000))
      ->type_name("N");
  sub.add_flag("--separate", o.separate, "One vocabulary a side instead of a joint one");
  sub.add_flag("--lowercase", t.lowercase, "Lowercase all text, in and out");
  sub.add_option("--source-subwords", t.source_subwords,
                 "SentencePiece model to use instead of a trained one, for both sides unless --target-subwords names another")
      ->type_name("FILE");
  sub.add_option("--target-subwords", t.target_subwords, "SentencePiece model of the target side")->type_name("FILE");
}

void add_run_options(CLI::App& sub, Options& o) {
  TrainOptions& t = o.train;
  sub.add_option("--max-time", o.max_minutes, "Minutes of training; 0: no limit")->check(real(0, 1e7))->type_name("MINUTES");
  sub.add_option("--max-epochs", t.max_epochs, "Passes over the data; 0: no limit")->check(whole(0))->type_name("N");
  sub.add_option("--max-updates", t.max_updates, "Updates of the parameters; 0: no limit")->check(whole(0))->type_name("N");
  sub.add_option("--seed", t.seed, "Seed of first values, order and dropout")->check(seed_value())->type_name("N");
  sub.add_option("--threads", t.threads, "Threads; 0: one a core. The result does not depend on it")->check(whole(0, 4096))->type_name("N");
  sub.add_flag("--resume", t.resume, "Go on with the run in --model, with its stored options; texts that have moved are named anew");
  sub.add_flag("--overwrite", t.overwrite, "Replace a model that is there; it stays in DIR/replaced until the new run has one");
  sub.add_option("--log-json", t.log_json, "Append progress as JSON lines to this file too, not only to training.jsonl of the model")
      ->type_name("FILE");
  sub.add_flag("--quiet", o.quiet, "No progress display");
}

}  // namespace

void add_train(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("train", "Train a translator on parallel text, or a language model on one text");
  add_text_options(*sub, o->train);
  add_model_options(*sub, *o);
  add_run_options(*sub, *o);
  sub->footer(
      "Ctrl-C or SIGTERM ends the present update, saves and leaves with exit status 130 or 143; --resume goes on from there. A second one\n"
      "ends the program at once, and so does the first before training begins, when there is nothing to save. Exit status 0: a limit was\n"
      "reached, or train.patience is over.");
  sub->callback([o, sub, &command] {
    o->train.max_seconds = 60 * o->max_minutes;
    o->train.joint = !o->separate;
    check_usage(*sub, *o);
    command = [o] { return run(*o); };
  });
}

}  // namespace jumok
