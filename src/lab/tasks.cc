#include "lab/tasks.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/rng.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace jumok {
namespace {

constexpr const char* kOnes[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                 "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                 "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr const char* kTens[] = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr const char* kOrdinals[] = {"",           "first",     "second",    "third",       "fourth",     "fifth",      "sixth",
                                     "seventh",    "eighth",    "ninth",     "tenth",       "eleventh",   "twelfth",    "thirteenth",
                                     "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"};
constexpr const char* kMonths[] = {"january", "february", "march",     "april",   "may",      "june",
                                   "july",    "august",   "september", "october", "november", "december"};

struct Date {
  int year, month, day;  // month and day from 1
};

Date date_of(int days) {
  int year = 1900;
  const auto leap = [](int y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); };
  for (; days >= 365 + leap(year); ++year) days -= 365 + leap(year);
  const std::array<int, 12> lengths = {31, 28 + leap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int month = 0;
  for (; days >= lengths[static_cast<size_t>(month)]; ++month) days -= lengths[static_cast<size_t>(month)];
  return {year, month + 1, days + 1};
}

// Words with the digits each stands for; what stands for none has an empty list. Digits are places in "YYYY-MM-DD": 0 … 3, 5, 6, 8, 9.
using Words = std::vector<std::pair<std::string, std::vector<int>>>;

// Two figures at the places a, b: "oh five", "fifteen", "twenty", "twenty one".
void say_two(Words& words, int n, int a, int b) {
  if (n < 10) {
    words.push_back({"oh", {a}});
    words.push_back({kOnes[n], {b}});
  } else if (n < 20) {
    words.push_back({kOnes[n], {a, b}});
  } else if (n % 10 == 0) {
    words.push_back({kTens[n / 10], {a, b}});
  } else {
    words.push_back({kTens[n / 10], {a}});
    words.push_back({kOnes[n % 10], {b}});
  }
}

Words say_year(int year) {
  Words words;
  words.push_back({year < 2000 ? "nineteen" : "twenty", {0, 1}});
  if (year % 100 == 0)
    words.push_back({"hundred", {2, 3}});
  else
    say_two(words, year % 100, 2, 3);
  return words;
}

Words say_day(int day) {
  if (day <= 20) return {{kOrdinals[day], {8, 9}}};
  if (day == 30) return {{"thirtieth", {8, 9}}};
  return {{kTens[day / 10], {8}}, {kOrdinals[day % 10], {9}}};
}

void append(Words& to, const Words& more) { to.insert(to.end(), more.begin(), more.end()); }

TaskPair digits_pair(const TaskOptions& o, Rng& rng) {
  TaskPair p;
  const auto length = static_cast<int>(static_cast<uint64_t>(o.shortest) + rng.below(static_cast<uint64_t>(o.longest - o.shortest + 1)));
  std::vector<std::string> digits;
  for (int i = 0; i < length; ++i) digits.push_back(std::to_string(rng.below(10)));
  const auto joined = [](const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& w : words) line += (line.empty() ? "" : " ") + w;
    return line;
  };
  p.source = joined(digits);
  if (o.task == Task::kReverse) std::reverse(digits.begin(), digits.end());
  p.target = joined(digits);
  for (int i = 0; i < length; ++i) p.gold.sure.push_back({o.task == Task::kReverse ? length - 1 - i : i, i});
  return p;
}

// The next day of the stream that is in the wanted part: one in eight days is for tests.
int day_of(Rng& rng, bool test) {
  for (;;) {
    const auto day = static_cast<int>(rng.below(kTaskDays));
    if ((hash_words(41, day) % 8 == 0) == test) return day;
  }
}

constexpr std::pair<Task, const char*> kNames[] = {{Task::kCopy, "copy"}, {Task::kReverse, "reverse"}, {Task::kDates, "dates"}};

std::vector<int> word_counts(const std::vector<std::string>& lines) {
  std::vector<int> counts;
  for (const std::string& line : lines) counts.push_back(static_cast<int>(split_words(line).size()));
  return counts;
}

std::vector<GoldAlignment> read_gold(const std::filesystem::path& gold, GoldFormat format, const std::vector<std::string>& source,
                                     const std::vector<std::string>& target) {
  return parse_gold_alignments(read_lines(gold), gold.string(), source.size(), {word_counts(source), word_counts(target)}, format);
}

GoldPairs read_choice(const LabFiles& files) {
  ParallelLines lines = read_parallel(files.choose_source, files.choose_target, {});
  auto links = read_gold(files.choose, files.gold_format, lines.source, lines.target);
  return {std::move(lines.source), std::move(lines.target), std::move(links)};
}

}  // namespace

Task parse_task(const std::string& name) {
  for (const auto& [task, known] : kNames) {
    if (name == known) return task;
  }
  fail("task \"{}\": expected copy, reverse or dates", name);
}

std::string task_name(Task task) {
  for (const auto& [known, name] : kNames) {
    if (task == known) return name;
  }
  return "";
}

TaskPair date_pair(int day, int form) {
  const Date d = date_of(day);
  const Words month = {{kMonths[d.month - 1], {5, 6}}};
  Words words;
  if (form == 0) {  // the third of march nineteen eighty seven
    append(words, {{"the", {}}});
    append(words, say_day(d.day));
    append(words, {{"of", {}}});
    append(words, month);
    append(words, say_year(d.year));
  } else if (form == 1) {  // march third , nineteen eighty seven
    append(words, month);
    append(words, say_day(d.day));
    append(words, {{",", {}}});
    append(words, say_year(d.year));
  } else {  // in nineteen eighty seven , on march third
    append(words, {{"in", {}}});
    append(words, say_year(d.year));
    append(words, {{",", {}}, {"on", {}}});
    append(words, month);
    append(words, say_day(d.day));
  }
  TaskPair p;
  for (const char c : fmt::format("{:04}-{:02}-{:02}", d.year, d.month, d.day))
    p.target += (p.target.empty() ? "" : " ") + std::string(1, c);
  for (size_t w = 0; w < words.size(); ++w) {
    p.source += (w > 0 ? " " : "") + words[w].first;
    for (const int digit : words[w].second) p.gold.sure.push_back({static_cast<int>(w), digit});
  }
  std::sort(p.gold.sure.begin(), p.gold.sure.end());
  return p;
}

std::vector<TaskPair> make_task(const TaskOptions& o, int pairs) {
  check(o.shortest >= 1 && o.longest >= o.shortest, "task {}: expected lengths from 1 up, found {} to {}", task_name(o.task), o.shortest,
        o.longest);
  std::vector<TaskPair> all;
  for (int i = 0; i < pairs; ++i) {
    Rng rng(hash_words(o.seed, static_cast<int>(o.task), o.test, i));
    if (o.task != Task::kDates) {
      all.push_back(digits_pair(o, rng));
      continue;
    }
    const int day = day_of(rng, o.test);
    all.push_back(date_pair(day, static_cast<int>(rng.below(3))));
  }
  return all;
}

LabText task_text(const TaskOptions& options, int training_pairs, int test_pairs) {
  LabText text;
  text.name = task_name(options.task);
  TaskOptions o = options;
  for (TaskPair& p : make_task(o, training_pairs)) {
    constexpr size_t kChoice = 200;
    if (text.choice.links.size() < kChoice) {
      text.choice.source.push_back(p.source);
      text.choice.target.push_back(p.target);
      text.choice.links.push_back(std::move(p.gold));
    }
    text.source.push_back(std::move(p.source));
    text.target.push_back(std::move(p.target));
  }
  o.test = true;
  for (TaskPair& p : make_task(o, test_pairs)) {
    text.test_source.push_back(std::move(p.source));
    text.test_target.push_back(std::move(p.target));
    text.gold.push_back(std::move(p.gold));
  }
  return text;
}

void check_files(const LabFiles& files) {
  check(!files.given() || (!files.source.empty() && !files.target.empty() && !files.test_source.empty() && !files.test_target.empty()),
        "own text: expected all of --source, --target, --test-source and --test-target");
  const bool choose = !files.choose.empty() || !files.choose_source.empty() || !files.choose_target.empty();
  check(!choose || (!files.gold.empty() && !files.choose.empty() && !files.choose_source.empty() && !files.choose_target.empty()),
        "an attention to choose: expected all of --gold, --choose, --choose-source and --choose-target");
}

LabText file_text(const LabFiles& files, int test_lines) {
  check_files(files);
  LabText text;
  text.name = files.source.filename().string() + " → " + files.target.filename().string();
  ParallelLines training = read_parallel(files.source, files.target, {}), test = read_parallel(files.test_source, files.test_target, {});
  text.source = std::move(training.source);
  text.target = std::move(training.target);
  text.test_source = std::move(test.source);
  text.test_target = std::move(test.target);
  check(!text.source.empty() && !text.test_source.empty(), "own text: expected lines to train and to test with, found {} and {}",
        text.source.size(), text.test_source.size());
  if (!files.gold.empty()) text.gold = read_gold(files.gold, files.gold_format, text.test_source, text.test_target);
  if (!files.choose.empty()) text.choice = read_choice(files);
  text.judged = files.judged;
  if (test_lines > 0 && text.test_source.size() > static_cast<size_t>(test_lines)) {
    text.test_source.resize(static_cast<size_t>(test_lines));
    text.test_target.resize(static_cast<size_t>(test_lines));
    if (!text.gold.empty()) text.gold.resize(static_cast<size_t>(test_lines));
  }
  return text;
}

}  // namespace jumok
