#include "lab_trained.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gold_options.h"
#include "lab/bottleneck.h"
#include "lab/compare.h"
#include "lab/gradient.h"
#include "lab/heads.h"
#include "lab/scale.h"
#include "lab_output.h"
#include "values.h"

namespace jumok {
namespace {

// Own text instead of a task.
void add_files(CLI::App& sub, TrainingPlan& plan) {
  LabFiles& files = plan.files;
  CLI::Option* source = sub.add_option("--source", files.source, "Own source sentences to train on, with the three below (default: a task)")
                            ->type_name("FILE");
  sub.add_option("--target", files.target, "Their translations, line by line")->type_name("FILE");
  sub.add_option("--test-source", files.test_source, "Source sentences held back")->type_name("FILE");
  sub.add_option("--test-target", files.test_target, "Their translations")->type_name("FILE");
  sub.add_option("--subwords", plan.subwords, "Kind of subword model for own text")
      ->check(one_of({"unigram", "bpe", "char", "word"}))
      ->type_name("NAME")
      ->needs(source);
  sub.add_option("--vocabulary", plan.vocabulary, "Pieces of it at most")->check(whole(8, 1000000))->type_name("N")->needs(source);
}

// Options of a task say nothing about own text.
void exclude_own_text(CLI::App& sub, std::initializer_list<const char*> names) {
  for (const char* name : names) sub.get_option(name)->excludes("--source");
}

void add_gold(CLI::App& sub, LabFiles& files) {
  CLI::Option* gold =
      sub.add_option("--gold", files.gold, "True word links of the test sentences, for the alignment error rate (default: none)")
          ->type_name("FILE");
  add_gold_format(sub, files.gold_format, gold);
  add_judged_links(sub, "--gold-judge", files.judged, gold);
  CLI::Option* choose =
      sub.add_option("--choose", files.choose,
                     "True word links of other pairs: the layer, head and step with the lowest error rate there are the ones "
                     "judged (default: none; of a task 200 training pairs)")
          ->type_name("FILE")
          ->needs(gold);
  CLI::Option* source = sub.add_option("--choose-source", files.choose_source, "Source sentences of those pairs")->type_name("FILE");
  CLI::Option* target = sub.add_option("--choose-target", files.choose_target, "Their translations")->type_name("FILE");
  choose->needs(source)->needs(target);
  source->needs(choose);
  target->needs(choose);
}

void add_only(CLI::App& sub, std::vector<std::string>& names) {
  sub.add_option("--only", names, "Mechanism to train, such as 'luong general'; repeatable (default: all)")->type_name("NAME");
}

// A task by its name.
void add_task(CLI::App& sub, Task& task) {
  sub.add_option_function<std::string>(
         "--task", [&task](const std::string& name) { task = parse_task(name); },
         "Task made on the spot: copy or reverse digits, dates from words to figures")
      ->check(one_of({"copy", "reverse", "dates"}))
      ->type_name("NAME")
      ->default_str(task_name(task));
}

// Those of a sequence of tasks that are named, each once.
void add_tasks(CLI::App& sub, std::vector<Task>& tasks) {
  sub.add_option_function<std::vector<std::string>>(
         "--task",
         [&tasks](const std::vector<std::string>& names) {
           std::erase_if(tasks, [&names](Task task) { return std::ranges::find(names, task_name(task)) == names.end(); });
         },
         "Task made on the spot: copy or reverse digits; repeatable (default: both)")
      ->check(one_of({"copy", "reverse"}))
      ->type_name("NAME");
}

void add_budget(CLI::App& sub, TrainingPlan& plan, int64_t least_updates, const std::string& updates_help) {
  sub.add_option("--updates", plan.updates, updates_help)->check(whole(least_updates, 10000000));
  sub.add_option("--seconds", plan.seconds, "Seconds of each model instead of updates; 0: updates count")
      ->check(real(0.0, 1e7))
      ->type_name("SECONDS");
  sub.add_option("--width", plan.width, "model.width of all; 0: each preset's own")->check(whole(0, 8192));
  sub.add_option("--batch-tokens", plan.batch_tokens, "Target symbols of an update")->check(whole(1, 10000000));
  sub.add_option("--pairs", plan.training_pairs, "Pairs of a task to train on")->check(whole(1, 10000000));
  sub.add_option("--set", plan.settings, "A setting for all models, as in jumok train; repeatable")->type_name("KEY=VALUE");
}

// All of a plan with one task.
template <typename Options>
void add_plan(CLI::App& sub, Options& plan, int64_t least_updates, const std::string& updates_help, const std::string& full) {
  add_task(sub, plan.task);
  add_files(sub, plan);
  add_gold(sub, plan.files);
  add_budget(sub, plan, least_updates, updates_help);
  sub.add_option("--test-pairs", plan.test_pairs, "Pairs held back; of own text at most so many")->check(whole(1, 1000000));
  exclude_own_text(sub, {"--task", "--pairs"});
  add_full(sub, plan, full);
  add_seed(sub, plan.run);
  add_threads(sub, plan.run);
}

// An option about training is wrong usage rather than silence where nothing is trained.
void refuse_plan(const CLI::App& sub) {
  for (const char* name : {"--task", "--source", "--target", "--test-source", "--test-target", "--gold", "--choose", "--seconds", "--width",
                           "--batch-tokens", "--pairs", "--set", "--test-pairs"}) {
    if (sub.count(name) > 0) throw CLI::ValidationError(name, "not with --updates 0: no model is trained");
  }
}

constexpr const char* kUpdatesHelp = "Updates of each model";

void add_compare(CLI::App& lab, Command& command) {
  add_experiment<CompareOptions, CompareResult>(lab, command, "compare", "Every mechanism trained on the same text for the same budget",
                                                run_compare, [](CLI::App& sub, CompareOptions& o) {
                                                  add_only(sub, o.only);
                                                  add_plan(sub, o, 1, kUpdatesHelp, "10 times the updates, width 256");
                                                });
}

void add_bottleneck(CLI::App& lab, Command& command) {
  add_experiment<BottleneckOptions, BottleneckResult>(
      lab, command, "bottleneck", "Quality against the length of the source, with attention and without", run_bottleneck,
      [](CLI::App& sub, BottleneckOptions& o) {
        add_only(sub, o.only);
        add_tasks(sub, o.tasks);
        sub.add_option("--lengths", o.lengths, "Lengths of copy and reverse, comma-separated")->delimiter(',')->check(whole(1, 1000));
        add_files(sub, o);
        sub.add_option("--bins", o.bins,
                       "Of own text: upper ends of the ranges of source words, rising, comma-separated (default: five ranges with about as "
                       "many test lines each)")
            ->delimiter(',')
            ->check(whole(1, 100000))
            ->needs("--source");
        add_budget(sub, o, 1, kUpdatesHelp);
        sub.add_option("--test-pairs", o.test_pairs, "Pairs of each length held back")->check(whole(1, 1000000));
        exclude_own_text(sub, {"--task", "--lengths", "--pairs", "--test-pairs"});
        add_full(sub, o, "10 times the updates, lengths 5 to 100, width 256");
        add_seed(sub, o.run);
        add_threads(sub, o.run);
      });
}

void add_gradient(CLI::App& lab, Command& command) {
  add_experiment<GradientOptions, GradientResult>(
      lab, command, "gradient", "How much gradient of an output word arrives at each encoder state", run_gradient,
      [](CLI::App& sub, GradientOptions& o) {
        sub.add_option("--length", o.length, "Source words")->check(whole(2, 10000));
        sub.add_option("--sentences", o.sentences, "Sentences, each with its own first parameters")->check(whole(1, 100000));
        sub.add_option("--width", o.width, "Width of the models")->check(whole(8, 8192));
        sub.add_option("--word", o.word, "Output word whose loss is taken, from 1 to --length")->check(whole(1, 10000));
        add_full(sub, o, "200 words, 32 sentences");
        add_seed(sub, o.run);
        add_threads(sub, o.run);
      });
}

void add_heads(CLI::App& lab, Command& command) {
  add_experiment<HeadsOptions, HeadsResult>(
      lab, command, "heads", "1, 2, 4, 8 heads at equal width: cost, quality, entropy, how unlike they are", run_heads,
      [](CLI::App& sub, HeadsOptions& o) {
        sub.add_option("--heads", o.heads, "Numbers of heads, comma-separated; each must divide the width")
            ->delimiter(',')
            ->check(whole(1, 128));
        add_plan(sub, o, 1, kUpdatesHelp, "10 times the updates, width 256");
      });
}

void add_scale(CLI::App& lab, Command& command) {
  add_experiment<ScaleOptions, ScaleResult>(
      lab, command, "scale", "Why scores are divided by √d_k: the softmax of random scores, and training with it and without", run_scale,
      [](CLI::App& sub, ScaleOptions& o) {
        sub.add_option("--widths", o.widths, "Values of d_k, comma-separated")->delimiter(',')->check(whole(1, 65536));
        sub.add_option("--keys", o.keys, "Keys a query chooses from")->check(whole(1, 10000));
        sub.add_option("--draws", o.draws, "Draws for each d_k")->check(whole(1, 10000000));
        add_plan(sub, o, 0, "Updates of each of the two models; 0: none is trained", "50 times the draws, 10 times the updates, width 256");
        sub.parse_complete_callback([&] {
          if (o.updates == 0) refuse_plan(sub);
        });
      });
}

}  // namespace

void add_trained_experiments(CLI::App& lab, Command& command) {
  add_scale(lab, command);
  add_compare(lab, command);
  add_bottleneck(lab, command);
  add_gradient(lab, command);
  add_heads(lab, command);
}

}  // namespace jumok
