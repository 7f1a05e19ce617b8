#include "digit_task.h"

#include <stdlib.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "models/safetensors.h"
#include "text/lines.h"

namespace jumok {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "jumok-test-XXXXXX").string();
  check(mkdtemp(name.data()) != nullptr, "{}: cannot be made", name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

DigitLines digit_lines(int count, uint64_t seed) {
  Rng rng(seed);
  DigitLines lines;
  for (int i = 0; i < count; ++i) {
    std::string line;
    for (uint64_t n = 2 + rng.below(7); n > 0; --n)
      line += (line.empty() ? "" : " ") + std::string(1, static_cast<char>('0' + rng.below(10)));
    lines.source.push_back(line);
    lines.target.emplace_back(line.rbegin(), line.rend());
  }
  return lines;
}

TrainOptions digit_run(const TemporaryFolder& folder, const std::string& model) {
  TrainOptions o;
  const DigitLines train = digit_lines(150, 1), valid = digit_lines(20, 2);
  o.source = folder / "train.source";
  o.target = folder / "train.target";
  o.valid_source = folder / "valid.source";
  o.valid_target = folder / "valid.target";
  write_lines(o.source, train.source);
  write_lines(o.target, train.target);
  write_lines(o.valid_source, valid.source);
  write_lines(o.valid_target, valid.target);
  o.model = folder / model;
  o.preset = "transformer-tiny";
  o.settings = {
      "encoder.layers=1",         "decoder.layers=1",  "model.width=32",         "attention.heads=2", "feed-forward.width=48",
      "positions.max=32",         "train.rate=0.01",   "train.warm-up=20",       "train.dropout=0.1", "train.attention-dropout=0.1",
      "train.max-length=31",      "validate.every=10", "train.batch-tokens=100", "average.every=5",   "average.last=3",
      "train.micro-batch-rows=16"};
  o.subwords = "word";
  o.vocabulary = 20;
  o.max_updates = 40;
  o.threads = 2;
  return o;
}

std::string error_of(const TrainOptions& options) {
  try {
    train(options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::map<std::string, std::string> lasting_state(const fs::path& model) {
  std::map<std::string, std::string> state;
  for (const auto& entry : fs::recursive_directory_iterator(model)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), model).string();
    state[name] = name.ends_with(".safetensors") && name != "checkpoint/state.safetensors" ? read_file(entry.path()) : "";
  }
  const SafetensorsFile file = SafetensorsFile::read(model / "checkpoint" / "state.safetensors");
  for (const NamedTensor& tensor : file.tensors()) state[tensor.name] = tensor.bytes;
  auto counters = nlohmann::ordered_json::parse(file.metadata().at("jumok_training"));
  counters.erase("seconds");
  state["counters"] = counters.dump();
  return state;
}

}  // namespace jumok
