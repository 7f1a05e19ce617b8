// What all experiments of `jumok lab` have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "report/lab_page.h"

namespace jumok {

// How an experiment runs, whatever it is about.
struct LabRun {
  uint64_t seed = 1;
  int threads = 0;  // 0: one a core
  // Called now and then by long ones: the share of the work that is done, and what goes on.
  std::function<void(double fraction, std::string_view text)> progress;

  void tell(double fraction, std::string_view text) const {
    if (progress) progress(fraction, text);
  }
};

// Each experiment NAME is a file pair here: options in, a plain result out, and the result as a report (terminal and page) and as JSON:
//   NAMEResult run_NAME(const NAMEOptions&);   LabReport report_of(const NAMEResult&);   nlohmann::ordered_json to_json(const NAMEResult&);
// Where options can be wrong whatever files hold, check_options(const NAMEOptions&) throws Error for them. run_NAME begins with it.
// Their first values are those of a quick run; full_budget() sets those of a long one, where there is a difference.

}  // namespace jumok
