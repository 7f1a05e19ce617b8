#include "train/events.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "base/file.h"

namespace jumok {
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;
namespace {

// NaN where the event has no such number: JSON writes null for one that is not finite.
double number(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::vector<Json> read_events(const fs::path& path, int64_t last_update) {
  std::vector<Json> events;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return events;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line, nullptr, false);  // the last line may be half: the session was killed
    if (event.is_object() && number(event, "update") <= static_cast<double>(last_update)) events.push_back(std::move(event));
  }
  return events;
}

[[noreturn]] void fail_writing(const fs::path& path) { fail("{}: cannot be written: {}", path.string(), std::strerror(errno)); }

void append(std::ofstream& file, const fs::path& path, const std::string& line) {
  if (!file.is_open()) return;
  file << line << '\n' << std::flush;
  if (!file.good()) fail_writing(path);
}

}  // namespace

EventLog::EventLog(fs::path path, fs::path second, int64_t update, bool resume) : path_(std::move(path)), second_path_(std::move(second)) {
  if (resume) events_ = read_events(path_, update);
  std::string text;
  for (const Json& e : events_) text += e.dump() + "\n";
  write_file(path_, text);
  file_.open(path_, std::ios::app | std::ios::binary);
  if (!file_.is_open()) fail_writing(path_);
  if (second_path_.empty()) return;
  second_.open(second_path_, std::ios::app | std::ios::binary);
  if (!second_.is_open()) fail_writing(second_path_);
}

void EventLog::write(const Json& event) {
  events_.push_back(event);
  const std::string line = event.dump();
  append(file_, path_, line);
  append(second_, second_path_, line);
}

TrainingCurves curves_of(const std::vector<Json>& events) {
  TrainingCurves curves;
  for (const Json& e : events) {
    const double update = number(e, "update"), seconds = number(e, "seconds"), loss = number(e, "loss");
    if (e.contains("event") && e["event"] == "train") {
      curves.training.push_back({update, seconds, loss, number(e, "tokens_per_second"), number(e, "rate")});
    } else if (e.contains("event") && e["event"] == "valid") {
      curves.validation.push_back({update, seconds, loss, number(e, "bleu"), number(e, "chrf")});
    }
  }
  return curves;
}

}  // namespace jumok
