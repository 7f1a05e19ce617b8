// jumok align: word links of given sentence pairs, and the attention they come from.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "align_choice.h"
#include "base/file.h"
#include "commands.h"
#include "gold_options.h"
#include "jumok/aligner.h"
#include "matrix_output.h"
#include "model_kind.h"
#include "output.h"
#include "progress.h"
#include "text/lines.h"
#include "usage.h"
#include "values.h"

namespace jumok {
namespace {

constexpr size_t kWindow = 1000;                  // pairs aligned before their links are printed
constexpr size_t kWindowBytes = size_t{1} << 26;  // fewer where sentences are long: their matrices are held; bytes² of text
constexpr double kSeveralThreshold = 0.15;        // of --links threshold unless set

struct Options {
  std::string source, target;
  std::string model, reverse_model;
  AttentionChoice attention, reverse;
  std::string step = "output", reverse_step = "output";
  std::string links = "argmax", symmetrise = "grow-diag-final-and";
  std::optional<double> threshold;
  std::string gold, gold_source, gold_target;
  JudgedLinks judged = JudgedLinks::kAll;
  MatrixOptions matrix;
  AlignOptions align;
  TranslatorOptions aligner;
};

AttentionStep parse_step(const std::string& name) { return name == "input" ? AttentionStep::kInput : AttentionStep::kOutput; }

Symmetrisation parse_symmetrisation(const std::string& name) {
  if (name == "intersection") return Symmetrisation::kIntersection;
  return name == "union" ? Symmetrisation::kUnion : Symmetrisation::kGrowDiagFinalAnd;
}

std::string pharaoh(const WordLinks& links) {
  std::string out;
  for (const auto& [source, target] : links) out += fmt::format("{}{}-{}", out.empty() ? "" : " ", source, target);
  return out + "\n";
}

// What is said on the way, each thing once: a line can be met by both models and by --matrix.
class Messages {
 public:
  explicit Messages(Progress& bar) : bar_(bar) {}
  std::string about;  // stands in front
  LogSink sink(const std::string& who = "") {
    return [this, who](LogLevel, const std::string& text) {
      const std::string line = "jumok: " + about + who + text;
      if (said_.insert(line).second) bar_.note(line);
    };
  }

 private:
  Progress& bar_;
  std::set<std::string> said_;
};

TranslatorOptions with_log(TranslatorOptions options, LogSink log) {
  options.log = std::move(log);
  return options;
}

// The models of one run, one a direction.
class LinkFinder {
 public:
  LinkFinder(const Options& o, Messages& messages) : options_(o), forward_(o.model, with_log(o.aligner, messages.sink())) {
    if (!o.reverse_model.empty()) backward_.emplace(o.reverse_model, with_log(o.aligner, messages.sink("reverse model: ")));
    options_.attention.step = parse_step(o.step);
    options_.reverse.step = parse_step(o.reverse_step);
  }

  void choose(const ChoiceGold& gold) {
    const TrialOptions trial{options_.align.links, options_.judged, {AttentionStep::kOutput, AttentionStep::kInput}};
    options_.attention = choose_attention(forward_, gold, trial, "--");
    if (backward_) options_.reverse = choose_attention(*backward_, reversed(gold), trial, "--reverse-");
  }

  std::vector<WordLinks> links(std::span<const std::string> sources, std::span<const std::string> targets, int64_t first_line) const {
    std::vector<WordLinks> found = directed(forward_, options_.attention, sources, targets, first_line);
    if (!backward_) return found;
    const std::vector<WordLinks> backward = directed(*backward_, options_.reverse, targets, sources, first_line);
    for (size_t i = 0; i < found.size(); ++i) {
      WordLinks turned;
      for (const auto& [target, source] : backward[i]) turned.push_back({source, target});
      found[i] = symmetrise(found[i], turned, parse_symmetrisation(options_.symmetrise));
    }
    return found;
  }

  const Aligner& forward() const { return forward_; }

 private:
  std::vector<WordLinks> directed(const Aligner& aligner, const AttentionChoice& attention, std::span<const std::string> sources,
                                  std::span<const std::string> targets, int64_t first_line) const {
    AlignOptions align = options_.align;
    align.attention = attention;
    align.first_line = first_line;
    std::vector<WordLinks> links;
    for (Alignment& a : aligner.align(sources, targets, align)) links.push_back(std::move(a.links));
    return links;
  }

  Options options_;
  Aligner forward_;
  std::optional<Aligner> backward_;
};

size_t window_end(const ParallelLines& text, size_t begin) {
  size_t end = begin, bytes = 0;
  for (; end < text.source.size() && end - begin < kWindow; ++end) {
    bytes += text.source[end].size() * text.target[end].size();
    if (end > begin && bytes > kWindowBytes) break;
  }
  return end;
}

ProgressOptions bar_options(size_t pairs) {
  ProgressOptions o;
  o.label = "align";
  o.unit = "lines";
  o.total = static_cast<double>(pairs);
  o.quiet = ::isatty(STDERR_FILENO) == 0;
  return o;
}

int run(const Options& o) {
  expect_translation_model(o.model);
  if (!o.reverse_model.empty()) expect_translation_model(o.reverse_model);
  const auto say = [](LogLevel, const std::string& text) { std::fputs(fmt::format("jumok: {}\n", text).c_str(), stderr); };
  const ParallelLines text = read_parallel(o.source, o.target, say);
  std::optional<ChoiceGold> gold;
  if (!o.gold.empty()) gold = read_choice_gold(o.gold, o.gold_source, o.gold_target, say);
  Progress bar(bar_options(text.source.size()));
  Messages messages(bar);
  LinkFinder finder(o, messages);
  MatrixWriter matrices(o.matrix, o.model);
  if (gold) {
    messages.about = "gold pairs: ";
    finder.choose(*gold);
    messages.about.clear();
  }
  as_usage([&] {  // checks layers, heads and kind of attention against the models
    finder.links({}, {}, 1);
    if (matrices) finder.forward().matrices({}, {}, {}, o.matrix.which);
  });
  for (size_t begin = 0; begin < text.source.size();) {
    const size_t count = window_end(text, begin) - begin;
    const auto first_line = static_cast<int64_t>(begin) + 1;
    const auto sources = std::span(text.source).subspan(begin, count), targets = std::span(text.target).subspan(begin, count);
    std::string out;
    for (const WordLinks& links : finder.links(sources, targets, first_line)) out += pharaoh(links);
    matrices.write(sources, targets, [&](size_t i) {
      AlignOptions one;
      one.first_line = first_line + static_cast<int64_t>(i);
      return finder.forward().matrices(sources.subspan(i, 1), targets.subspan(i, 1), one, o.matrix.which).front();
    });
    write_output(out);
    flush_output();
    begin += count;
    bar.update(static_cast<double>(begin));
  }
  matrices.commit();
  bar.finish(static_cast<double>(text.source.size()));
  return 0;
}

void add_attention_options(CLI::App& sub, Options& o) {
  const auto add = [&](const std::string& prefix, AttentionChoice& choice, std::string& step, const std::string& whose) {
    const bool forward = prefix == "--";
    sub.add_option(prefix + "layer", choice.layer,
                   forward ? "Decoder layer whose attention gives the links, from 0; -1: the last but one" : whose)
        ->check(whole(-1, 1000))
        ->type_name("N");
    sub.add_option(prefix + "head", choice.head, forward ? "Head of that layer, from 0; -1: the mean of all heads" : whose)
        ->check(whole(-1, 1000))
        ->type_name("N");
    sub.add_option(
           prefix + "step", step,
           forward ? "Decoder step that speaks for a target symbol: output, that which produced it, or input, the next, which has read it"
                   : whose)
        ->check(one_of({"output", "input"}))
        ->type_name("NAME");
  };
  add("--", o.attention, o.step, "");
  sub.add_option("--reverse-model", o.reverse_model,
                 "Model of the other direction, target to source: the links of both become one alignment")
      ->type_name("DIR");
  add("--reverse-", o.reverse, o.reverse_step, "The same of the other direction's model");
  sub.add_option("--symmetrise", o.symmetrise, "How both directions become one: intersection, union, grow-diag-final-and (as Moses' symal)")
      ->check(one_of({"intersection", "union", "grow-diag-final-and"}))
      ->type_name("NAME")
      ->needs("--reverse-model");
  for (const char* name : {"--reverse-layer", "--reverse-head", "--reverse-step"}) sub.get_option(name)->needs("--reverse-model");
}

void add_link_options(CLI::App& sub, Options& o) {
  sub.add_option("--links", o.links,
                 "argmax: each target word with the source word of most weight, where that reaches --threshold; threshold: every pair of "
                 "words that reaches it")
      ->check(one_of({"argmax", "threshold"}))
      ->type_name("NAME");
  sub.add_option(
         "--threshold", o.threshold,
         fmt::format("Least weight of a link, 0 to 1 (default 0 for argmax: every target word that attended to any word has one; {} "
                     "for threshold)",
                     kSeveralThreshold))
      ->check(real(0, 1))
      ->type_name("NUMBER");
}

void add_choice_options(CLI::App& sub, Options& o) {
  auto* choose = sub.add_option("--choose", o.gold,
                                "Take layer, head and step with the lowest alignment error rate on this gold (0-0 1?2 … a line, or NAACL "
                                "lines, as 'jumok evaluate --aer'); the table goes to standard error")
                     ->type_name("FILE");
  auto* source = sub.add_option("--choose-source", o.gold_source, "Source sentences of that gold")->type_name("FILE")->needs(choose);
  auto* target = sub.add_option("--choose-target", o.gold_target, "Target sentences of that gold")->type_name("FILE")->needs(choose);
  add_judged_links(sub, "--choose-judge", o.judged, choose);
  choose->needs(source)->needs(target);
  for (const char* name : {"--layer", "--head", "--step", "--reverse-layer", "--reverse-head", "--reverse-step"}) {
    choose->excludes(sub.get_option(name));
  }
}

constexpr char kRule[] =
    "Words are what white space separates. The weight of a pair of words is the attention between their subword symbols, summed over the "
    "symbols of the source word, averaged over those of the target word; what went to the end symbol is left out. Links are source-target, "
    "from 0, sorted; a pair with an empty side gives an empty line.";

}  // namespace

void add_align(CLI::App& app, Command& command) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("align", "Word links (0-0 1-2 …) of given sentence pairs, from a model's attention");
  sub->footer(kRule);
  sub->add_option("--model", o->model, "Model directory")->required()->type_name("DIR");
  sub->add_option("--source", o->source, "Source sentences, one a line (.gz too)")->required()->type_name("FILE");
  sub->add_option("--target", o->target, "Their translations, line by line")->required()->type_name("FILE");
  add_attention_options(*sub, *o);
  add_link_options(*sub, *o);
  add_choice_options(*sub, *o);
  add_matrix_options(*sub, o->matrix, "the attention of every layer and head, end symbols included,", "Pairs");
  add_matrix_kind(*sub, o->matrix);
  sub->add_option("--threads", o->aligner.threads, "Threads; 0: one a core. Results do not depend on it")
      ->check(whole(0, 4096))
      ->type_name("N");
  sub->callback([o, &command] {
    check_matrix_paths(o->matrix);
    const bool several = o->links == "threshold";
    o->align.links = {several ? LinkRule::kThreshold : LinkRule::kBest, o->threshold.value_or(several ? kSeveralThreshold : 0)};
    command = [o] { return run(*o); };
  });
}

}  // namespace jumok
