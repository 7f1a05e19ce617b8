// jumok translate: lines of standard input to lines of standard output.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <istream>
#include <memory>
#include <optional>

#include "arriving_input.h"
#include "base/error.h"
#include "base/file.h"
#include "commands.h"
#include "jumok/translator.h"
#include "matrix_output.h"
#include "model_kind.h"
#include "output.h"
#include "progress.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "translation_text.h"
#include "usage.h"
#include "values.h"

namespace jumok {
namespace {

struct Options {
  std::string model, alignments, alignments_output, attention_html;
  TranslatorOptions translator;
  TranslateOptions translate;
  MatrixOptions matrix;
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
  void write(const Translation& t) {
    if (file_) file_->write(links_(t) + "\n");
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::string (*links_)(const Translation&) = nullptr;
  std::optional<AtomicFile> file_;
};

// Translations that reached the length limit: one warning for all of them.
class CutTranslations {
 public:
  void count(const std::vector<std::vector<Translation>>& translations, int64_t first_line) {
    for (size_t i = 0; i < translations.size(); ++i) {
      for (const Translation& t : translations[i]) {
        ++printed_;
        if (t.cut && cut_++ == 0) first_line_ = first_line + static_cast<int64_t>(i);
      }
    }
  }
  void report(const LogSink& warn) const {
    if (cut_ == 0) return;
    warn(LogLevel::kWarning,
         fmt::format("{} of {} translations reached the length limit (--max-length) and end there, the first is of line {}", cut_, printed_,
                     first_line_));
  }

 private:
  int64_t printed_ = 0, cut_ = 0, first_line_ = 0;
};

void print_window(const std::vector<std::vector<Translation>>& translations, int64_t first_id, bool nbest, AlignmentOutput& alignments) {
  const TranslationFormat format = alignments.format(nbest);
  std::string out;
  for (size_t i = 0; i < translations.size(); ++i) {
    for (const Translation& t : translations[i]) {
      out += output_line(t, first_id + static_cast<int64_t>(i), format);
      alignments.write(t);
    }
  }
  write_output(out);
  flush_output();
}

// Of the best translation of each line.
void write_matrices(MatrixWriter& matrices, const Translator& translator, std::span<const std::string> lines,
                    const std::vector<std::vector<Translation>>& translations, int64_t first_line, Attentions which) {
  if (!matrices) return;
  std::vector<std::string> texts;
  for (const std::vector<Translation>& list : translations) texts.push_back(list.front().text);
  matrices.write(lines, texts, [&](size_t i) {
    return translator.matrices_of(lines.subspan(i, 1), std::span(translations[i]).first(1), first_line + static_cast<int64_t>(i), which)
        .front();
  });
}

int run(Options o) {
  expect_translation_model(o.model);
  Progress bar(bar_options());
  std::string about;  // what lines are read again for
  const auto warn = [&](LogLevel, const std::string& text) { bar.note("jumok: " + about + text); };
  o.translator.log = warn;
  AlignmentOutput alignments(o);
  MatrixOptions page_options;
  if (!o.attention_html.empty()) page_options.files = {{"html", o.attention_html}};
  MatrixWriter page(page_options, o.model), matrices(o.matrix, o.model);
  const Translator translator(o.model, o.translator);
  // Checks the options against the model.
  as_usage([&] {
    translator.translate({}, o.translate);
    if (page) translator.matrices({}, {});
    if (matrices) translator.matrices({}, {}, 1, o.matrix.which);
  });
  ArrivingInput input(STDIN_FILENO, "standard input");
  std::istream stream(&input);
  LineReader reader(stream, "standard input", warn);
  CutTranslations cut;
  int64_t done = 0;
  for (auto lines = next_window(input, reader, o.window); !lines.empty(); lines = next_window(input, reader, o.window)) {
    o.translate.first_line = done + 1;
    const auto translations = translator.translate(lines, o.translate);
    print_window(translations, done, o.nbest, alignments);
    cut.count(translations, done + 1);
    about = "attention: ";
    write_matrices(page, translator, lines, translations, done + 1, Attentions::kSource);
    write_matrices(matrices, translator, lines, translations, done + 1, o.matrix.which);
    about.clear();
    done += static_cast<int64_t>(lines.size());
    bar.update(static_cast<double>(input.bytes_read()), fmt::format("{} lines", done));
  }
  cut.report(warn);
  alignments.commit();
  matrices.commit();
  page.commit();
  bar.finish(static_cast<double>(input.bytes_read()), fmt::format("{} lines", done));
  return 0;
}

void check_usage(const CLI::App& sub, Options& o) {
  if (o.translate.nbest > o.translate.beam) {
    throw CLI::ValidationError("--nbest", fmt::format("expected at most the beam, {}, found {}", o.translate.beam, o.translate.nbest));
  }
  if (!o.attention_html.empty() && o.attention_html == o.alignments_output) {
    throw CLI::ValidationError("--attention-html", "expected another file than that of --alignments-output");
  }
  check_matrix_paths(o.matrix, {o.alignments_output, o.attention_html});
  if (!o.alignments_output.empty() && o.alignments.empty()) o.alignments = "pharaoh";
  o.translate.alignments = !o.alignments.empty();
  if (!o.translate.alignments && sub.count("--alignment-layer") > 0) {
    throw CLI::ValidationError("--alignment-layer", "expected --alignments or --alignments-output too: the page has every layer");
  }
}

void add_search_options(CLI::App& sub, Options& o) {
  TranslateOptions& t = o.translate;
  sub.add_option("--beam", t.beam, "Hypotheses kept at every step; 1 is greedy search")->check(whole(1, 1000))->type_name("N");
  sub.add_option("--nbest", t.nbest, "Translations of a line, best first, as 'id ||| text ||| score', id from 0; at most the beam")
      ->check(whole(1, 1000))
      ->type_name("N");
  sub.add_option("--alpha", t.alpha, "Translations are ranked by log P / length^alpha")->check(real(0, 10))->type_name("NUMBER");
  sub.add_option("--max-length", t.max_length, "Most subword symbols of a translation; 0: twice those of the line plus 10")
      ->check(whole(0, 1000000))
      ->type_name("N");
}

void add_alignment_options(CLI::App& sub, Options& o) {
  sub.add_option("--alignments", o.alignments,
                 "Append word alignments as ' ||| …': pharaoh is 0-0 1-2 …, source-target from 0, by the mean of a layer's heads; json has "
                 "the layer's name and the weights too")
      ->check(one_of({"pharaoh", "json"}))
      ->type_name("FORMAT");
  sub.add_option("--alignments-output", o.alignments_output,
                 "Write them to this file instead, a line a translation, as pharaoh unless --alignments says otherwise")
      ->type_name("FILE");
  sub.add_option("--alignment-layer", o.translate.alignment_layer, "Decoder layer whose attention gives them, from 0; -1: the last but one")
      ->check(whole(-1, 1000))
      ->type_name("N");
  sub.add_option(
         "--attention-html", o.attention_html,
         "Write a page with the attention of every layer and head for the first 20 sentences (--matrix html, but for a larger number)")
      ->type_name("FILE");
  add_matrix_options(sub, o.matrix, "the attention of every layer and head", "Lines");
  add_matrix_kind(sub, o.matrix);
}

}  // namespace

void add_translate(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("translate", "Translate standard input to standard output, line by line");
  sub->add_option("--model", o->model, "Model directory")->required()->type_name("DIR");
  add_search_options(*sub, *o);
  sub->add_option("--threads", o->translator.threads, "Threads; 0: one a core. Results do not depend on it")
      ->check(whole(0, 4096))
      ->type_name("N");
  sub->add_option("--batch-tokens", o->translate.batch_tokens, "Source symbols a thread computes at once. Results do not depend on it")
      ->check(whole(1, 1000000))
      ->type_name("N");
  sub->add_option("--window", o->window, "Most lines read before their translations are printed; fewer where no more have arrived")
      ->check(whole(1, 1000000))
      ->type_name("LINES");
  add_alignment_options(*sub, *o);
  sub->callback([o, sub, &command] {
    o->nbest = sub->count("--nbest") > 0;
    check_usage(*sub, *o);
    command = [o] { return run(*o); };
  });
}

}  // namespace jumok
