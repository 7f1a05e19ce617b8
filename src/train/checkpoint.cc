#include "train/checkpoint.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "models/model_files.h"

namespace jumok {
using Json = nlohmann::ordered_json;
namespace {

constexpr char kKey[] = "jumok_training";

std::string to_text(const OptimizerState& state, const Progressed& p) {
  const Json j = {{"updates", state.updates},
                  {"epoch", p.epoch},
                  {"batch", p.batch},
                  {"seconds", p.seconds},
                  {"tokens", p.tokens},
                  {"best_score", p.best_score},
                  {"best_update", p.best_update},
                  {"validations_without_best", p.validations_without_best},
                  {"validated_update", p.validated_update},
                  {"snapshots", p.snapshots},
                  {"corpus", p.corpus},
                  {"validation", p.validation}};
  return j.dump();
}

void from_text(const std::string& text, OptimizerState& state, Progressed& p) {
  const Json j = Json::parse(text);
  j.at("updates").get_to(state.updates);
  j.at("epoch").get_to(p.epoch);
  j.at("batch").get_to(p.batch);
  j.at("seconds").get_to(p.seconds);
  j.at("tokens").get_to(p.tokens);
  j.at("best_score").get_to(p.best_score);
  j.at("best_update").get_to(p.best_update);
  j.at("validations_without_best").get_to(p.validations_without_best);
  p.validated_update = j.value("validated_update", int64_t{-1});
  j.at("snapshots").get_to(p.snapshots);
  j.at("corpus").get_to(p.corpus);
  p.validation = j.value("validation", uint64_t{0});
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const ParameterLayout& layout, const OptimizerState& state,
                     const Progressed& progressed) {
  std::vector<NamedTensor> tensors;
  append_tensors(layout, state.parameters.data(), "parameters.", tensors);
  append_tensors(layout, state.m.data(), "adam.m.", tensors);
  append_tensors(layout, state.v.data(), "adam.v.", tensors);
  write_safetensors(path, tensors, {{kKey, to_text(state, progressed)}});
}

void load_checkpoint(const std::filesystem::path& path, const ParameterLayout& layout, OptimizerState& state, Progressed& progressed) {
  const SafetensorsFile file = SafetensorsFile::read(path);
  const auto found = file.metadata().find(kKey);
  check(found != file.metadata().end(), "{}: expected a training checkpoint, found a file without its counters", path.string());
  for (auto* block : {&state.parameters, &state.m, &state.v}) block->resize(layout.size());
  read_tensors(file, layout, "parameters.", state.parameters.data());
  read_tensors(file, layout, "adam.m.", state.m.data());
  read_tensors(file, layout, "adam.v.", state.v.data());
  try {
    from_text(found->second, state, progressed);
  } catch (const Json::exception&) {
    fail("{}: the counters of the checkpoint are damaged", path.string());
  }
  check(state.updates >= 0 && progressed.epoch >= 0 && progressed.batch >= 0, "{}: update {}, epoch {}, batch {}: expected counters from 0",
        path.string(), state.updates, progressed.epoch, progressed.batch);
}

}  // namespace jumok
