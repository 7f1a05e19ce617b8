// jumok evaluate: BLEU and chrF of translations, or the alignment error rate of word links.
#include <fmt/format.h>
#include <jumok/metrics.h>

#include <cstdio>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "commands.h"
#include "gold_options.h"
#include "output.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "values.h"

namespace jumok {
namespace {

struct EvaluateOptions {
  std::string hypothesis;  // "-": standard input
  std::string reference;
  std::string tokenizer = "13a", smoothing = "exp";
  std::string gold, source, target;
  JudgedLinks judged = JudgedLinks::kAll;
  GoldFormat gold_format = GoldFormat::kRecognised;
  MetricOptions metric;
  bool json = false;
};

void warn(LogLevel, const std::string& message) { std::fputs(fmt::format("jumok: {}\n", message).c_str(), stderr); }

std::string name_of_hypothesis(const EvaluateOptions& options) { return options.hypothesis == "-" ? "standard input" : options.hypothesis; }

std::vector<std::string> read_hypothesis(const EvaluateOptions& options) {
  if (options.hypothesis != "-") return read_lines(options.hypothesis, warn);
  LineReader reader(std::cin, name_of_hypothesis(options), warn);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

std::vector<int> word_counts(const std::string& path) {
  std::vector<int> counts;
  if (path.empty()) return counts;
  for (const auto& line : read_lines(path, warn)) counts.push_back(static_cast<int>(split_words(line).size()));
  return counts;
}

Smoothing parse_smoothing(const std::string& name) {
  if (name == "none") return Smoothing::kNone;
  if (name == "floor") return Smoothing::kFloor;
  return name == "add-k" ? Smoothing::kAddK : Smoothing::kExp;
}

// Numbers are printed in full (shortest text that reads back as the same double); names and signatures need no escapes.
std::string to_json(const BleuScore& bleu, const ChrfScore& chrf) {
  return fmt::format(
      "{{\"bleu\": {{\"score\": {}, \"signature\": \"{}\", \"precisions\": [{}], \"brevity_penalty\": {}, \"ratio\": {}, "
      "\"hypothesis_length\": {}, \"reference_length\": {}}}, \"chrf2\": {{\"score\": {}, \"signature\": \"{}\", \"name\": \"{}\"}}}}\n",
      bleu.score, bleu.signature, fmt::join(bleu.precisions, ", "), bleu.brevity_penalty, bleu.ratio, bleu.hypothesis_length,
      bleu.reference_length, chrf.score, chrf.signature, chrf.name);
}

std::string to_json(const AlignmentScore& score) {
  return fmt::format(
      "{{\"aer\": {{\"score\": {}, \"precision\": {}, \"recall\": {}, \"proposed\": {}, \"sure\": {}, \"matched_sure\": {}, "
      "\"matched_possible\": {}}}}}\n",
      score.error_rate, score.precision, score.recall, score.proposed, score.sure, score.matched_sure, score.matched_possible);
}

int evaluate_text(const EvaluateOptions& options) {
  const auto references = read_lines(options.reference, warn);
  const auto hypotheses = read_hypothesis(options);
  check(!hypotheses.empty() || !references.empty(), "{} and {}: expected at least one line, found none", name_of_hypothesis(options),
        options.reference);
  check(hypotheses.size() == references.size(), "{} and {}: expected as many lines in both, found {} hypotheses and {} references",
        name_of_hypothesis(options), options.reference, hypotheses.size(), references.size());
  const auto bleu_score = bleu(hypotheses, references, options.metric);
  const auto chrf_score = chrf(hypotheses, references, options.metric);
  if (!bleu_score.note.empty()) warn(LogLevel::kInfo, "note: " + bleu_score.note);
  write_output(options.json ? to_json(bleu_score, chrf_score)
                            : fmt::format("{}\n  {}\n{}\n  {}\n", to_string(bleu_score), bleu_score.signature, to_string(chrf_score),
                                          chrf_score.signature));
  return 0;
}

int evaluate_alignment(const EvaluateOptions& options) {
  const AlignmentLengths lengths{word_counts(options.source), word_counts(options.target)};
  const auto hypotheses = parse_alignments(read_hypothesis(options), name_of_hypothesis(options), lengths);
  const auto gold = parse_gold_alignments(read_lines(options.gold, warn), options.gold, hypotheses.size(), lengths, options.gold_format);
  const auto score = alignment_error_rate(hypotheses, gold, options.judged);
  write_output(options.json ? to_json(score)
                            : fmt::format("AER = {:.4f} (precision = {:.4f} recall = {:.4f} proposed = {} sure = {})\n", score.error_rate,
                                          score.precision, score.recall, score.proposed, score.sure));
  return 0;
}

int evaluate(EvaluateOptions options) {
  options.metric.tokenizer = parse_tokenizer(options.tokenizer);
  options.metric.smoothing = parse_smoothing(options.smoothing);
  return options.gold.empty() ? evaluate_text(options) : evaluate_alignment(options);
}

void add_text_options(CLI::App& sub, EvaluateOptions& options) {
  sub.add_option("--reference,-r", options.reference, "Reference translations, one a line (.gz too)")->type_name("FILE");
  sub.add_option("--tokenize", options.tokenizer, "How BLEU splits words; 13a is for languages with spaces")
      ->check(one_of({"13a", "char", "none", "intl", "zh"}))
      ->type_name("NAME");
  sub.add_flag("--lowercase", options.metric.lowercase, "BLEU without regard to case");
  sub.add_option("--smooth", options.smoothing, "What BLEU puts for n-grams without a match")
      ->check(one_of({"exp", "none", "floor", "add-k"}))
      ->type_name("NAME");
  sub.add_option("--smooth-value", options.metric.smooth_value, "Matches put by --smooth floor, else 0.1, or add-k, else 1")
      ->check(positive_real())
      ->type_name("NUMBER");
  sub.add_option("--chrf-word-order", options.metric.word_order, "Longest word n-gram of chrF, words; 2 gives chrF++")
      ->check(whole(0, 16))
      ->type_name("N");
  sub.add_flag("--chrf-lowercase", options.metric.chrf_lowercase, "chrF without regard to case");
}

void add_alignment_options(CLI::App& sub, EvaluateOptions& options) {
  auto* gold = sub.add_option("--aer", options.gold,
                              "Score word links instead, against this gold: 0-0 1?2 … a line (from 0, ? or p possible), or lines of "
                              "'sentence source target [S|P]' (from 1). The hypothesis has 0-0 1-2 … a line")
                   ->type_name("FILE")
                   ->excludes("--reference");
  add_gold_format(sub, options.gold_format, gold);
  add_judged_links(sub, "--aer-judge", options.judged, gold);
  sub.add_option("--source", options.source, "Source sentences, to refuse links beyond their words")->type_name("FILE")->needs(gold);
  sub.add_option("--target", options.target, "Target sentences, likewise")->type_name("FILE")->needs(gold);
}

void check_usage(const CLI::App& sub, const EvaluateOptions& options) {
  if (options.reference.empty() && options.gold.empty()) throw CLI::RequiredError("--reference (or --aer)");
  if (!options.gold.empty()) {
    for (const char* name : {"--tokenize", "--lowercase", "--smooth", "--smooth-value", "--chrf-word-order", "--chrf-lowercase"}) {
      if (sub.count(name) > 0) throw CLI::ValidationError(name, "not with --aer: links have no words");
    }
  }
  if (sub.count("--smooth-value") > 0 && options.smoothing != "floor" && options.smoothing != "add-k") {
    throw CLI::ValidationError("--smooth-value", fmt::format("expected --smooth floor or add-k too, found {}", options.smoothing));
  }
}

}  // namespace

void add_evaluate(CLI::App& app, Command& command) {
  auto options = std::make_shared<EvaluateOptions>();
  options->hypothesis = "-";
  CLI::App* sub = app.add_subcommand("evaluate", "BLEU and chrF2 of translations against references, as sacreBLEU; AER of word links");
  sub->add_option("--hypothesis,-i", options->hypothesis, "Translations, one a line (.gz too); - is standard input")->type_name("FILE");
  add_text_options(*sub, *options);
  add_alignment_options(*sub, *options);
  sub->add_flag("--json", options->json, "Print one JSON object instead of text, scores in full precision");
  sub->callback([options, sub, &command] {
    check_usage(*sub, *options);
    command = [options] { return evaluate(*options); };
  });
}

}  // namespace jumok
