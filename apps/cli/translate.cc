// jumok translate: lines of standard input to lines of standard output.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <istream>
#include <memory>
#include <optional>

#include "arriving_input.h"
#include "base/error.h"
#include "base/file.h"
#include "commands.h"
#include "jumok/translator.h"
#include "model_kind.h"
#include "output.h"
#include "progress.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "translation_text.h"

namespace jumok {
namespace {

constexpr size_t kPageSentences = 20;  // of --attention-html: more make a page that browsers open slowly

struct Options {
  std::string model, alignments, alignments_output, attention_html;
  TranslatorOptions translator;
  TranslateOptions translate;
  bool nbest = false;
  int64_t window = 2000;
};

// The amount of a regular file that is still to be read; 0 for pipes and terminals.
double file_size(int descriptor) {
  struct stat s {};
  return ::fstat(descriptor, &s) == 0 && S_ISREG(s.st_mode) ? static_cast<double>(s.st_size) : 0;
}

ProgressOptions bar_options() {
  ProgressOptions o;
  o.label = "translate";
  o.total = file_size(STDIN_FILENO);
  o.quiet = o.total == 0 || ::isatty(STDERR_FILENO) == 0;
  return o;
}

// Where alignments go: behind each translation, or a line each to a file of their own.
class AlignmentOutput {
 public:
  explicit AlignmentOutput(const Options& o) {
    if (!o.alignments.empty()) links_ = o.alignments == "json" ? json_alignment : pharaoh_links;
    if (!o.alignments_output.empty()) file_.emplace(o.alignments_output);
  }
  TranslationFormat format(bool nbest) const { return {nbest, file_ ? nullptr : links_}; }
  void write(const Alignment& a) {
    if (file_) file_->write(links_(a) + "\n");
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::string (*links_)(const Alignment&) = nullptr;
  std::optional<AtomicFile> file_;
};

// The first sentences and their translations, for the page.
struct PageText {
  std::vector<std::string> sources, targets;
  void add(const std::string& source, const std::string& target) {
    if (sources.size() >= kPageSentences || is_blank(source)) return;
    sources.push_back(source);
    targets.push_back(target);
  }
};

void print_window(const std::vector<std::vector<Translation>>& translations, int64_t first_id, bool nbest, AlignmentOutput& alignments) {
  const TranslationFormat format = alignments.format(nbest);
  std::string out;
  for (size_t i = 0; i < translations.size(); ++i) {
    for (const Translation& t : translations[i]) {
      out += output_line(t, first_id + static_cast<int64_t>(i), format);
      alignments.write(t.alignment);
    }
  }
  write_output(out);
  flush_output();
}

int run(Options o) {
  expect_translation_model(o.model);
  Progress bar(bar_options());
  const auto warn = [&](LogLevel, const std::string& text) { bar.note("jumok: " + text); };
  o.translator.log = warn;
  const Translator translator(o.model, o.translator);
  AlignmentOutput alignments(o);
  ArrivingInput input(STDIN_FILENO, "standard input");
  std::istream stream(&input);
  LineReader reader(stream, "standard input", warn);
  PageText page;
  int64_t done = 0;
  for (auto lines = next_window(input, reader, o.window); !lines.empty(); lines = next_window(input, reader, o.window)) {
    o.translate.first_line = done + 1;
    const auto translations = translator.translate(lines, o.translate);
    print_window(translations, done, o.nbest, alignments);
    if (!o.attention_html.empty()) {
      for (size_t i = 0; i < lines.size(); ++i) page.add(lines[i], translations[i].front().text);
    }
    done += static_cast<int64_t>(lines.size());
    bar.update(static_cast<double>(input.bytes_read()), fmt::format("{} lines", done));
  }
  alignments.commit();
  if (!o.attention_html.empty())
    write_file(o.attention_html,
               translator.attention_page("Attention of " + std::filesystem::path(o.model).filename().string(), page.sources, page.targets));
  bar.finish(static_cast<double>(input.bytes_read()), fmt::format("{} lines", done));
  return 0;
}

void check_usage(Options& o) {
  if (o.translate.nbest > o.translate.beam) {
    throw CLI::ValidationError("--nbest", fmt::format("expected at most the beam, {}, found {}", o.translate.beam, o.translate.nbest));
  }
  if (!std::isfinite(o.translate.alpha)) throw CLI::ValidationError("--alpha", "expected a number");
  if (!o.attention_html.empty() && o.attention_html == o.alignments_output) {
    throw CLI::ValidationError("--attention-html", "expected another file than that of --alignments-output");
  }
  if (!o.alignments_output.empty() && o.alignments.empty()) o.alignments = "pharaoh";
  o.translate.alignments = !o.alignments.empty();
}

void add_search_options(CLI::App& sub, Options& o) {
  TranslateOptions& t = o.translate;
  sub.add_option("--beam", t.beam, "Hypotheses kept at every step; 1 is greedy search")->check(CLI::Range(1, 1000))->type_name("N");
  sub.add_option("--nbest", t.nbest, "Translations of a line, best first, as 'id ||| text ||| score', id from 0; at most the beam")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  sub.add_option("--alpha", t.alpha, "Translations are ranked by log P / length^alpha")->check(CLI::Range(0.0, 10.0))->type_name("NUMBER");
  sub.add_option("--max-length", t.max_length, "Most subword symbols of a translation; 0: twice those of the line plus 10")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N");
}

void add_alignment_options(CLI::App& sub, Options& o) {
  sub.add_option("--alignments", o.alignments,
                 "Append word alignments as ' ||| …': pharaoh (0-0 1-2, source-target from 0) or json (weights too)")
      ->check(CLI::IsMember({"pharaoh", "json"}))
      ->type_name("FORMAT");
  sub.add_option("--alignments-output", o.alignments_output,
                 "Write them to this file instead, a line a translation (default format: pharaoh)")
      ->type_name("FILE");
  sub.add_option("--alignment-layer", o.translate.alignment_layer, "Decoder layer whose attention gives them, from 0; -1: the last but one")
      ->check(CLI::Range(-1, 1000))
      ->type_name("N");
  sub.add_option("--attention-html", o.attention_html,
                 fmt::format("Write a page with the attention of every layer and head for the first {} sentences", kPageSentences))
      ->type_name("FILE");
}

}  // namespace

void add_translate(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("translate", "Translate standard input to standard output, line by line");
  sub->add_option("--model", o->model, "Model directory")->required()->type_name("DIR");
  add_search_options(*sub, *o);
  sub->add_option("--threads", o->translator.threads, "Threads; 0: one a core. Results do not depend on it")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
  sub->add_option("--batch-tokens", o->translate.batch_tokens, "Source symbols a thread computes at once. Results do not depend on it")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  sub->add_option("--window", o->window, "Most lines read before their translations are printed; fewer where no more have arrived")
      ->check(CLI::Range(1, 1000000))
      ->type_name("LINES");
  add_alignment_options(*sub, *o);
  sub->callback([o, sub, &command] {
    o->nbest = sub->count("--nbest") > 0;
    check_usage(*o);
    command = [o] { return run(*o); };
  });
}

}  // namespace jumok
