// A task small enough to train whole models on in a test: lines of digits turned round.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "jumok/trainer.h"

namespace jumok {

// A folder below the system's temporary folder, removed with its contents at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

struct DigitLines {
  std::vector<std::string> source, target;
};
DigitLines digit_lines(int count, uint64_t seed);

// Writes train.source, train.target (150 pairs), valid.source and valid.target (20 pairs) and gives the options of a run on them: 40
// updates of about 100 target symbols (10 an epoch), a model of width 32, validation every 10 updates, a set for the mean every 5.
TrainOptions digit_run(const TemporaryFolder& folder, const std::string& model);

// The text of a failed run's Error; empty when it succeeds.
std::string error_of(const TrainOptions& options);

// Everything a model directory holds that must not depend on threads or interruptions, by name: tensors, counters, kept models.
std::map<std::string, std::string> lasting_state(const std::filesystem::path& model);

}  // namespace jumok
