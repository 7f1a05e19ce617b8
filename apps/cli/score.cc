// jumok score: how probable the model finds given translations, or given texts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "base/error.h"
#include "commands.h"
#include "jumok/generator.h"
#include "jumok/metrics.h"
#include "jumok/translator.h"
#include "output.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "values.h"

namespace jumok {
namespace {

constexpr size_t kWindow = 2000;  // lines scored before their results are printed

struct Options {
  std::string model, source, target, text;
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

void say(LogLevel, const std::string& text) { std::fputs(fmt::format("jumok: {}\n", text).c_str(), stderr); }

Totals print_scores(size_t lines, const ScoreLines& score) {
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
  }
  return totals;
}

// A line's end is a symbol, since it is scored; so it counts as a word too, as SRILM's and KenLM's perplexities count it.
void say_perplexities(const std::vector<std::string>& lines, const Totals& totals) {
  int64_t words = 0;
  for (const std::string& line : lines) words += static_cast<int64_t>(split_words(line).size());
  const auto ends = static_cast<int64_t>(lines.size());
  say(LogLevel::kInfo, fmt::format("perplexity {:.4f} per symbol, {:.4f} per word ({} words, split at white space, and {} line ends)",
                                   perplexity(-totals.log_prob, totals.tokens), perplexity(-totals.log_prob, words + ends), words, ends));
}

template <typename Found>
std::vector<Score> scores_of(const std::vector<Found>& found) {
  std::vector<Score> scores;
  for (const auto& f : found) scores.push_back({f.log_prob, f.tokens});
  return scores;
}

void finish(const Options& o, const std::vector<std::string>& lines, const Totals& totals, const char* symbols) {
  say(LogLevel::kInfo, fmt::format("{} lines, {} {} with end symbols, log P {:.4f}, perplexity {:.4f}", lines.size(), totals.tokens,
                                   symbols, totals.log_prob, perplexity(-totals.log_prob, totals.tokens)));
  if (o.perplexity) say_perplexities(lines, totals);
}

int score_pairs(const Options& o) {
  if (!o.text.empty()) throw CLI::ValidationError("--text", "a translation model scores pairs: --source and --target");
  if (o.source.empty()) throw CLI::RequiredError("--source");
  if (o.target.empty()) throw CLI::RequiredError("--target");
  const Translator translator(o.model, {.threads = o.threads, .log = say});
  const ParallelLines text = read_parallel(o.source, o.target, say);
  const std::span<const std::string> source(text.source), target(text.target);
  const Totals totals = print_scores(target.size(), [&](size_t begin, size_t count) {
    return scores_of(translator.score(source.subspan(begin, count), target.subspan(begin, count), static_cast<int64_t>(begin) + 1));
  });
  finish(o, text.target, totals, "target symbols");
  return 0;
}

int score_texts(const Options& o) {
  if (!o.source.empty()) throw CLI::ValidationError("--source", "a language model scores texts alone: --text");
  if (o.text.empty() && o.target.empty()) throw CLI::RequiredError("--text");
  const std::string& file = o.text.empty() ? o.target : o.text;
  const Generator model(o.model, {.threads = o.threads, .log = say});
  const std::vector<std::string> lines = read_lines(file, say);
  check(!lines.empty(), "{}: expected lines of text, found none", file);
  const Totals totals = print_scores(lines.size(), [&](size_t begin, size_t count) {
    return scores_of(model.score(std::span(lines).subspan(begin, count), static_cast<int64_t>(begin) + 1));
  });
  finish(o, lines, totals, "symbols");
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
  sub->add_option("--threads", o->threads, "Threads; 0: one a core. Results do not depend on it")->check(whole(0, 4096))->type_name("N");
  sub->callback([o, &command] { command = [o] { return is_language_model(o->model) ? score_texts(*o) : score_pairs(*o); }; });
}

}  // namespace jumok
