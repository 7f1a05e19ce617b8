#include "gold_format.h"

#include "values.h"

namespace jumok {
namespace {

GoldFormat parse_gold_format(const std::string& name) {
  if (name == "pharaoh") return GoldFormat::kPharaoh;
  return name == "naacl" ? GoldFormat::kNaacl : GoldFormat::kRecognised;
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

}  // namespace jumok
