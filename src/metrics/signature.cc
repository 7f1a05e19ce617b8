#include "metrics/signature.h"

#include "base/error.h"

namespace jumok::metrics {

std::string signature(bool lowercase, std::string_view details) {
  return fmt::format("nrefs:1|case:{}|{}|version:jumok-0.1.0", lowercase ? "lc" : "mixed", details);
}

void check_line_counts(size_t hypotheses, size_t references) {
  check(hypotheses == references, "hypotheses and references: expected as many lines on both sides, found {} hypotheses and {} references",
        hypotheses, references);
  check(hypotheses > 0, "hypotheses and references: expected at least one line, found none");
}

}  // namespace jumok::metrics
