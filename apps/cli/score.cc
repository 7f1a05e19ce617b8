// jumok score: how probable the model finds given translations, or given texts.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "base/error.h"
#include "commands.h"
#include "jumok/generator.h"
#include "jumok/metrics.h"
#include "jumok/translator.h"
#include "matrix_output.h"
#include "output.h"
#include "progress.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "usage.h"
#include "values.h"

namespace jumok {
namespace {

constexpr size_t kWindow = 500;  // lines scored before their results are printed

struct Options {
  std::string model, source, target, text;
  MatrixOptions matrix;
  int threads = 0;
  bool perplexity = false;
};

struct Score {
  double log_prob;
  int64_t tokens;
};
using ScoreLines = std::function<std::vector<Score>(size_t begin, size_t count)>;

struct Totals {
  double log_prob = 0;
  int64_t tokens = 0;
};

// What is said beside the progress bar; of lines that are read a second time, for their matrices, with a word in front.
class Messages {
 public:
  explicit Messages(Progress& bar) : bar_(bar) {}
  void say(const std::string& text) { bar_.note("jumok: " + text); }
  LogSink sink() {
    return [this](LogLevel, const std::string& text) { say(again_ ? "attention: " + text : text); };
  }
  template <typename Work>
  auto again(Work work) {
    again_ = true;
    auto result = work();
    again_ = false;
    return result;
  }

 private:
  Progress& bar_;
  bool again_ = false;
};

ProgressOptions bar_options() {
  ProgressOptions o;
  o.label = "score";
  o.total = 1;
  o.quiet = ::isatty(STDERR_FILENO) == 0;
  return o;
}

Totals print_scores(size_t lines, const ScoreLines& score, Progress& bar) {
  Totals totals;
  for (size_t begin = 0; begin < lines; begin += kWindow) {
    std::string out;
    for (const Score& s : score(begin, std::min(kWindow, lines - begin))) {
      out += fmt::format("{:.6f}\n", s.log_prob);
      totals.log_prob += s.log_prob;
      totals.tokens += s.tokens;
    }
    write_output(out);
    flush_output();
    bar.update(static_cast<double>(std::min(begin + kWindow, lines)) / static_cast<double>(lines));
  }
  bar.finish(1);
  return totals;
}

// A line's end is a symbol, since it is scored; so it counts as a word too, as SRILM's and KenLM's perplexities count it.
void say_perplexities(const std::vector<std::string>& lines, const Totals& totals, Messages& messages) {
  int64_t words = 0;
  for (const std::string& line : lines) words += static_cast<int64_t>(split_words(line).size());
  const auto ends = static_cast<int64_t>(lines.size());
  messages.say(fmt::format("perplexity {:.4f} per symbol, {:.4f} per word ({} words, split at white space, and {} line ends)",
                           perplexity(-totals.log_prob, totals.tokens), perplexity(-totals.log_prob, words + ends), words, ends));
}

template <typename Found>
std::vector<Score> scores_of(const std::vector<Found>& found) {
  std::vector<Score> scores;
  for (const auto& f : found) scores.push_back({f.log_prob, f.tokens});
  return scores;
}

void finish(const Options& o, const std::vector<std::string>& lines, const Totals& totals, const char* symbols, Messages& messages) {
  messages.say(fmt::format("{} lines, {} {} with end symbols, log P {:.4f}, perplexity {:.4f}", lines.size(), totals.tokens, symbols,
                           totals.log_prob, perplexity(-totals.log_prob, totals.tokens)));
  if (o.perplexity) say_perplexities(lines, totals, messages);
}

int score_pairs(const Options& o) {
  if (!o.text.empty()) throw CLI::ValidationError("--text", "a translation model scores pairs: --source and --target");
  if (o.source.empty()) throw CLI::RequiredError("--source");
  if (o.target.empty()) throw CLI::RequiredError("--target");
  Progress bar(bar_options());
  Messages messages(bar);
  const Translator translator(o.model, {.threads = o.threads, .log = messages.sink()});
  const ParallelLines text = read_parallel(o.source, o.target, messages.sink());
  const std::span<const std::string> source(text.source), target(text.target);
  MatrixWriter matrices(o.matrix, o.model);
  if (matrices) as_usage([&] { translator.matrices({}, {}, 1, o.matrix.which); });  // a model without attention has none
  const Totals totals = print_scores(
      target.size(),
      [&](size_t begin, size_t count) {
        const auto sources = source.subspan(begin, count), targets = target.subspan(begin, count);
        const auto first_line = static_cast<int64_t>(begin) + 1;
        std::vector<Score> scores = scores_of(translator.score(sources, targets, first_line));
        matrices.write(sources, targets, [&](size_t i) {
          return messages.again([&] {
            return translator.matrices(sources.subspan(i, 1), targets.subspan(i, 1), first_line + static_cast<int64_t>(i), o.matrix.which)
                .front();
          });
        });
        return scores;
      },
      bar);
  matrices.commit();
  finish(o, text.target, totals, "target symbols", messages);
  return 0;
}

int score_texts(const Options& o) {
  if (!o.source.empty()) throw CLI::ValidationError("--source", "a language model scores texts alone: --text");
  if (o.text.empty() && o.target.empty()) throw CLI::RequiredError("--text");
  if (o.matrix.which != Attentions::kSource) throw CLI::ValidationError("--matrix-of", "a language model has one kind of attention");
  const std::string& file = o.text.empty() ? o.target : o.text;
  Progress bar(bar_options());
  Messages messages(bar);
  const Generator model(o.model, {.threads = o.threads, .log = messages.sink()});
  const std::vector<std::string> lines = read_lines(file, messages.sink());
  check(!lines.empty(), "{}: expected lines of text, found none", file);
  MatrixWriter matrices(o.matrix, o.model);
  const std::vector<std::string> no_sources(std::min(kWindow, lines.size()));
  const Totals totals = print_scores(
      lines.size(),
      [&](size_t begin, size_t count) {
        const auto texts = std::span<const std::string>(lines).subspan(begin, count);
        const auto first_line = static_cast<int64_t>(begin) + 1;
        std::vector<Score> scores = scores_of(model.score(texts, first_line));
        matrices.write(std::span(no_sources).first(count), texts, [&](size_t i) {
          return messages.again([&] { return model.matrices(texts.subspan(i, 1), first_line + static_cast<int64_t>(i)).front(); });
        });
        return scores;
      },
      bar);
  matrices.commit();
  finish(o, lines, totals, "symbols", messages);
  return 0;
}

}  // namespace

void add_score(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub =
      app.add_subcommand("score", "Natural log-probability of each target line given its source line, or of each line of a text");
  sub->add_option("--model", o->model, "Model directory")->required()->type_name("DIR");
  sub->add_option("--source", o->source, "Source sentences, one a line (.gz too)")->type_name("FILE");
  CLI::Option* target = sub->add_option("--target", o->target, "The translations to score, line by line")->type_name("FILE");
  sub->add_option("--text", o->text, "For a language model instead: the texts to score, one a line (.gz too)")
      ->type_name("FILE")
      ->excludes(target);
  sub->add_flag("--perplexity", o->perplexity, "Also tell the perplexity per symbol and per word of the whole, on standard error");
  add_matrix_options(*sub, o->matrix, "the attention of every layer and head, over the source or of a language model over the text so far,",
                     "Lines");
  add_matrix_kind(*sub, o->matrix);
  sub->add_option("--threads", o->threads, "Threads; 0: one a core. Results do not depend on it")->check(whole(0, 4096))->type_name("N");
  sub->callback([o, &command] {
    check_matrix_paths(o->matrix);
    command = [o] { return is_language_model(o->model) ? score_texts(*o) : score_pairs(*o); };
  });
}

}  // namespace jumok
