// A model directory: config.json, model.safetensors, source.spm and target.spm (or joint.spm). docs/model-format.md describes it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/encoder_decoder.h"
#include "models/safetensors.h"
#include "text/subwords.h"

namespace jumok {

inline constexpr int kFormatVersion = 1;

// The subword models of the two sides; with a joint vocabulary both are the same.
struct SubwordPair {
  std::shared_ptr<const Subwords> source, target;
  bool joint() const { return source == target; }
};

// Everything inference needs, const and shared by any number of threads.
struct LoadedModel {
  ModelConfig config;
  SubwordPair subwords;
  std::shared_ptr<const EncoderDecoder> model;
  std::shared_ptr<const std::vector<float>> parameters;  // [layout().size()]
  nlohmann::ordered_json training;                       // the "training" part of config.json, for display
};

// Throws Error naming the file and what is wrong with it: missing, cut short, of a newer format, tensors that do not fit the config.
LoadedModel load_model(const std::filesystem::path& directory);

// config.json and the subword models; `training` is stored as it is under "training".
void write_config(const std::filesystem::path& directory, const ModelConfig& config, const SubwordPair& subwords,
                  const nlohmann::ordered_json& training);
ModelConfig read_config(const std::filesystem::path& directory, nlohmann::ordered_json* training);
SubwordPair read_subwords(const std::filesystem::path& directory);

// A parameter block as a safetensors file and back, tensor by tensor under its name, without padding. `prefix` stands before each name.
void write_parameters(const std::filesystem::path& path, const ParameterLayout& layout, const float* block, const Metadata& metadata = {});
void read_parameters(const SafetensorsFile& file, const ParameterLayout& layout, float* block);

// The pieces of the above for files that hold several blocks (checkpoints): appends one tensor per entry, whose bytes are those of `block`.
void append_tensors(const ParameterLayout& layout, const float* block, const std::string& prefix, std::vector<NamedTensor>& tensors);
void read_tensors(const SafetensorsFile& file, const ParameterLayout& layout, const std::string& prefix, float* block);

}  // namespace jumok
