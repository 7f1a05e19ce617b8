#include "gold_options.h"

#include "values.h"

namespace jumok {
namespace {

GoldFormat parse_gold_format(const std::string& name) {
  if (name == "pharaoh") return GoldFormat::kPharaoh;
  return name == "naacl" ? GoldFormat::kNaacl : GoldFormat::kRecognised;
}

JudgedLinks parse_judged(const std::string& name) {
  if (name == "either") return JudgedLinks::kEitherAnnotated;
  return name == "both" ? JudgedLinks::kBothAnnotated : JudgedLinks::kAll;
}

}  // namespace

void add_gold_format(CLI::App& sub, GoldFormat& format, CLI::Option* gold) {
  sub.add_option_function<std::string>(
         "--gold-format", [&format](const std::string& name) { format = parse_gold_format(name); },
         "Form of the gold: pharaoh (a line a sentence), naacl (a line a link), or auto: that of its first line with content")
      ->check(one_of({"auto", "pharaoh", "naacl"}))
      ->type_name("NAME")
      ->default_str("auto")
      ->needs(gold);
}

void add_judged_links(CLI::App& sub, const std::string& name, JudgedLinks& judged, CLI::Option* gold) {
  sub.add_option_function<std::string>(
         name, [&judged](const std::string& which) { judged = parse_judged(which); },
         "Links that count, for gold that leaves words out: all, or those with either or both of their words in the gold")
      ->check(one_of({"all", "either", "both"}))
      ->type_name("NAME")
      ->default_str("all")
      ->needs(gold);
}

}  // namespace jumok
