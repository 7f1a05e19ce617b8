// training.jsonl: one JSON object a line for every report and validation of a run.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/training_page.h"

namespace jumok {

// Appends lines to the log of the model directory and, if named, to a second file.
class EventLog {
 public:
  // On resuming, events after `update` (of a session that was killed) are dropped; otherwise the log starts empty.
  EventLog(std::filesystem::path path, std::filesystem::path second, int64_t update, bool resume);

  void write(const nlohmann::ordered_json& event);
  const std::vector<nlohmann::ordered_json>& events() const { return events_; }  // of all sessions

 private:
  std::filesystem::path path_, second_path_;
  std::ofstream file_, second_;
  std::vector<nlohmann::ordered_json> events_;
};

// The curves of the events, for the page.
TrainingCurves curves_of(const std::vector<nlohmann::ordered_json>& events);

}  // namespace jumok
