// jumok score: how probable the model finds given translations.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "jumok/metrics.h"
#include "jumok/translator.h"
#include "output.h"
#include "text/lines.h"

namespace jumok {
namespace {

constexpr size_t kWindow = 2000;  // pairs scored before their results are printed

struct Options {
  std::string model, source, target;
  TranslatorOptions translator;
};

void say(LogLevel, const std::string& text) { std::fputs(fmt::format("jumok: {}\n", text).c_str(), stderr); }

int run(Options o) {
  o.translator.log = say;
  const Translator translator(o.model, o.translator);
  const ParallelLines text = read_parallel(o.source, o.target, say);
  double sum = 0;
  int64_t tokens = 0;
  for (size_t begin = 0; begin < text.source.size(); begin += kWindow) {
    const size_t count = std::min(kWindow, text.source.size() - begin);
    const auto scores = translator.score(std::span(text.source).subspan(begin, count), std::span(text.target).subspan(begin, count),
                                         static_cast<int64_t>(begin) + 1);
    std::string out;
    for (const PairScore& s : scores) {
      out += fmt::format("{:.6f}\n", s.log_prob);
      sum += s.log_prob;
      tokens += s.tokens;
    }
    write_output(out);
    flush_output();
  }
  say(LogLevel::kInfo, fmt::format("{} lines, {} target symbols with end symbols, log P {:.4f}, perplexity {:.4f}", text.source.size(),
                                   tokens, sum, perplexity(-sum, tokens)));
  return 0;
}

}  // namespace

void add_score(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("score", "Natural log-probability of each target line given its source line");
  sub->add_option("--model", o->model, "Model directory")->required()->type_name("DIR");
  sub->add_option("--source", o->source, "Source sentences, one a line (.gz too)")->required()->type_name("FILE");
  sub->add_option("--target", o->target, "The translations to score, line by line")->required()->type_name("FILE");
  sub->add_option("--threads", o->translator.threads, "Threads; 0: one a core. Results do not depend on it")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
  sub->callback([o, &command] { command = [o] { return run(*o); }; });
}

}  // namespace jumok
