// jumok corpus: sentence pairs from catalogues, help pages, TSV and plain files; cleaned and split.
#include "corpus/corpus.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/file.h"
#include "commands.h"
#include "output.h"
#include "usage.h"
#include "values.h"

namespace jumok {
namespace {

struct CorpusCommand {
  CorpusRequest corpus;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::pair<size_t, size_t> columns{0, 0};
  std::filesystem::path output;
};

int build(const CorpusCommand& command) {
  check_folder_place(command.output);
  const Corpus corpus = build_corpus(command.corpus);
  write_corpus(corpus, command.output);
  write_output(report_text(corpus.report));
  return 0;
}

// What contradicts itself whatever the texts hold.
void check_usage(const CLI::App& sub, CorpusCommand& command) {
  CorpusRequest& o = command.corpus;
  for (const auto& [source, target] : command.pairs) o.pairs.emplace_back(source, target);
  if (sub.count("--tsv-columns") > 0) o.columns = {command.columns.first, command.columns.second};
  if (o.catalogues.empty() && o.help.empty() && o.tsv.empty() && o.pairs.empty()) {
    throw CLI::ValidationError("expected at least one of --catalogues, --libreoffice-help, --tsv and --pair");
  }
  if (sub.count("--tsv-columns") > 0 && o.tsv.empty()) throw CLI::ValidationError("--tsv-columns", "expected --tsv too");
  as_usage([&] { check_request(o); });
}

void add_sources(CLI::App& sub, CorpusCommand& command) {
  CorpusRequest& options = command.corpus;
  const auto one = CLI::MultiOptionPolicy::TakeAll;
  sub.add_option("--catalogues", options.catalogues, "Folder with gettext catalogues (.mo, .po, also .gz); repeatable")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(one);
  sub.add_option("--libreoffice-help", options.help, "Folder with LibreOffice's help pages, one folder per language; repeatable")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(one);
  sub.add_option("--tsv", options.tsv, "File of lines SOURCE TAB TARGET (also .gz); repeatable")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(one);
  sub.add_option("--tsv-columns", command.columns, "Fields of source and target, from 1, where a TSV line has more than two")
      ->type_name("N N")
      ->check(whole(1, 1000000));
  sub.add_option("--pair", command.pairs, "Two files that belong together line by line (also .gz); repeatable")->type_name("FILE FILE");
  sub.add_option("--from", options.from, "Source language: en, ko, pt_BR …")->type_name("CODE");
  sub.add_option("--to", options.to, "Target language")->type_name("CODE")->required();
  sub.add_option("--output", command.output, "Folder for train, dev, test and report.json")->type_name("DIR")->required();
}

void add_filters(CLI::App& sub, CleanOptions& options) {
  const std::map<std::string, PlaceholderRule> rules = {{"keep", PlaceholderRule::kKeep}, {"drop", PlaceholderRule::kDrop}};
  sub.add_option_function<std::string>(
         "--placeholders", [&options, rules](const std::string& name) { options.placeholders = rules.at(name); },
         "Pairs with %s, {name}, <b> …: drop them, or keep those where both sides have the same")
      ->check(one_of({"drop", "keep"}))
      ->type_name("NAME")
      ->default_str("drop");
  sub.add_option("--min-words", options.min_words, "Least words of the source; 4 and more choose prose")
      ->type_name("WORDS")
      ->check(whole(0, 1000));
  sub.add_option("--max-words", options.max_words, "Most words of either side")->type_name("WORDS")->check(whole(1, 100000));
  sub.add_option("--max-characters", options.max_characters, "Most characters of either side")
      ->type_name("CHARACTERS")
      ->check(whole(1, 1000000));
  sub.add_option("--min-ratio", options.min_ratio, "Least target characters per source character; 0: by language")
      ->type_name("NUMBER")
      ->check(real(0, 100));
  sub.add_option("--max-ratio", options.max_ratio, "Most target characters per source character; 0: by language")
      ->type_name("NUMBER")
      ->check(real(0, 100));
  sub.add_option("--min-script", options.min_script, "Least fraction of letters in a script of the language")
      ->type_name("NUMBER")
      ->check(real(0, 1));
}

void add_split(CLI::App& sub, SplitOptions& options) {
  sub.add_option("--dev", options.dev, "Pairs for development, at most a twentieth of all")
      ->type_name("PAIRS")
      ->check(whole(0, 1000000000));
  sub.add_option("--test", options.test, "Pairs for testing, at most a twentieth of all")->type_name("PAIRS")->check(whole(0, 1000000000));
  sub.add_option("--seed", options.seed, "Chooses another split")->type_name("N")->check(seed_value());
}

}  // namespace

void add_corpus(CLI::App& app, Command& command) {
  auto options = std::make_shared<CorpusCommand>();
  CLI::App* sub = app.add_subcommand("corpus", "Make sentence pairs from catalogues, help pages, TSV and plain files; cleaned and split");
  add_sources(*sub, *options);
  add_filters(*sub, options->corpus.clean);
  add_split(*sub, options->corpus.split);
  sub->callback([options, sub, &command] {
    check_usage(*sub, *options);
    command = [options] { return build(*options); };
  });
}

}  // namespace jumok
