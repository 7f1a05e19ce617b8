// jumok generate: a language model goes on with each line of standard input.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <istream>
#include <memory>

#include "arriving_input.h"
#include "commands.h"
#include "jumok/generator.h"
#include "matrix_output.h"
#include "model_kind.h"
#include "output.h"
#include "text/lines.h"
#include "values.h"

namespace jumok {
namespace {

struct Options {
  std::string model;
  GeneratorOptions generator;
  GenerateOptions generate;
  MatrixOptions matrix;
  bool continuation = false, samples = false;
  int64_t window = 2000;
};

void say(LogLevel, const std::string& text) { std::fputs(fmt::format("jumok: {}\n", text).c_str(), stderr); }

// A line a prompt; with --samples one each, 'id ||| text ||| log P'.
void print_window(const std::vector<std::vector<Generation>>& generations, int64_t first_id, const Options& o) {
  std::string out;
  for (size_t i = 0; i < generations.size(); ++i) {
    for (const Generation& g : generations[i]) {
      const std::string& text = o.continuation ? g.continuation : g.text;
      out += o.samples ? fmt::format("{} ||| {} ||| {:.6f}\n", first_id + static_cast<int64_t>(i), text, g.log_prob) : text + "\n";
    }
  }
  write_output(out);
  flush_output();
}

// Of every text printed, prompt and continuation.
void write_matrices(MatrixWriter& matrices, const Generator& generator, const std::vector<std::vector<Generation>>& generations,
                    int64_t first_line) {
  if (!matrices) return;
  for (size_t i = 0; i < generations.size(); ++i) {
    const std::span<const Generation> samples = generations[i];
    std::vector<std::string> texts;
    for (const Generation& g : samples) texts.push_back(g.text);
    matrices.write(std::vector<std::string>(texts.size()), texts,
                   [&](size_t k) { return generator.matrices_of(samples.subspan(k, 1), first_line + static_cast<int64_t>(i)).front(); });
  }
}

int run(Options o) {
  expect_language_model(o.model);
  o.generator.log = say;
  MatrixWriter matrices(o.matrix, o.model);
  const Generator generator(o.model, o.generator);
  ArrivingInput input(STDIN_FILENO, "standard input");
  std::istream stream(&input);
  LineReader reader(stream, "standard input", say);
  int64_t done = 0;
  for (auto prompts = next_window(input, reader, o.window); !prompts.empty(); prompts = next_window(input, reader, o.window)) {
    o.generate.first_line = done + 1;
    const auto generations = generator.generate(prompts, o.generate);
    print_window(generations, done, o);
    write_matrices(matrices, generator, generations, done + 1);
    done += static_cast<int64_t>(prompts.size());
  }
  matrices.commit();
  return 0;
}

void check_usage(const Options& o) {
  check_matrix_paths(o.matrix);
  if (!(o.generate.top_p > 0)) throw CLI::ValidationError("--top-p", "expected a number above 0, up to 1");
}

void add_choice_options(CLI::App& sub, Options& o) {
  GenerateOptions& g = o.generate;
  CLI::Option* greedy = sub.add_flag("--greedy", g.greedy, "Always the most probable symbol, instead of one drawn at random");
  sub.add_option("--temperature", g.temperature, "Logits are divided by it: below 1 draws the probable more often, above 1 less")
      ->check(real(1e-6, 1e6))
      ->type_name("NUMBER")
      ->excludes(greedy);
  sub.add_option("--top-k", g.top_k, "Draw from the K most probable symbols only; 0: from all")
      ->check(whole(0, 1000000))
      ->type_name("K")
      ->excludes(greedy);
  sub.add_option("--top-p", g.top_p, "Then from the fewest of those whose probability reaches P, which is above 0")
      ->check(real(0, 1))
      ->type_name("P")
      ->excludes(greedy);
  sub.add_option("--seed", g.seed, "Seed of the draws; each depends on it and on its line's text alone")
      ->check(seed_value())
      ->type_name("N")
      ->excludes(greedy);
  sub.add_option("--samples", g.samples, "Continuations of each line, as 'id ||| text ||| log P', id from 0")
      ->check(whole(1, 100000))
      ->type_name("N")
      ->excludes(greedy);
}

}  // namespace

void add_generate(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("generate", "Go on with each line of standard input, by a language model");
  sub->add_option("--model", o->model, "Model directory")->required()->type_name("DIR");
  add_choice_options(*sub, *o);
  sub->add_option("--max-length", o->generate.max_length, "Most new subword symbols")->check(whole(1, 1000000))->type_name("N");
  sub->add_option("--stop", o->generate.stop, "End in front of the first place where this text appears in what is new")
      ->type_name("TEXT")
      ->check([](const std::string& text) { return text.empty() ? std::string("expected a text, found an empty one") : std::string(); });
  sub->add_flag("--continuation", o->continuation, "Print what is new alone, without the line before it");
  add_matrix_options(*sub, o->matrix, "the attention of every layer and head from each symbol of a printed text to those before it,",
                     "Texts");
  sub->add_option("--threads", o->generator.threads, "Threads; 0: one a core. Results do not depend on it")
      ->check(whole(0, 4096))
      ->type_name("N");
  sub->add_option("--batch", o->generate.batch, "Lines a thread goes on with at once. Results do not depend on it")
      ->check(whole(1, 100000))
      ->type_name("LINES");
  sub->add_option("--window", o->window, "Most lines read before their continuations are printed; fewer where no more have arrived")
      ->check(whole(1, 1000000))
      ->type_name("LINES");
  sub->callback([o, sub, &command] {
    o->samples = sub->count("--samples") > 0;
    check_usage(*o);
    command = [o] { return run(*o); };
  });
}

}  // namespace jumok
