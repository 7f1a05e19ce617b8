#include "models/model_files.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace jumok {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
namespace {

Json parse_config(const fs::path& path) {
  const Json config = Json::parse(read_file(path), nullptr, false);
  check(!config.is_discarded() && config.is_object(), "{}: expected a JSON object, found something else", path.string());
  return config;
}

void check_format(const Json& config, const fs::path& path) {
  check(config.contains("format_version") && config["format_version"].is_number_integer(), "{}: expected an integer \"format_version\"", path.string());
  const int64_t version = config["format_version"];
  check(version >= 1 && version <= kFormatVersion,
        "{}: the model has format version {}, this program reads up to {}: a newer jumok is needed", path.string(), version, kFormatVersion);
}

int vocabulary(const Json& config, const char* key, const fs::path& path) {
  check(config.contains(key) && config[key].is_number_integer() && config[key] > 0, "{}: expected a positive integer \"{}\"", path.string(), key);
  return config[key];
}

std::vector<int64_t> file_shape(const ParameterLayout::Entry& e) {
  if (e.is_vector) return {e.parameter.columns};
  return {e.parameter.rows, e.parameter.columns};
}

void read_entry(const SafetensorsFile& file, const ParameterLayout::Entry& e, const std::string& prefix, float* block) {
  const NamedTensor& tensor = file.at(prefix + e.name);
  check(tensor.shape == file_shape(e), "{}: tensor {}: expected shape [{}], found [{}]", file.where(), tensor.name, fmt::join(file_shape(e), ", "),
        fmt::join(tensor.shape, ", "));
  const std::vector<float> values = to_f32(tensor);
  const Parameter& p = e.parameter;
  for (int64_t r = 0; r < p.rows; ++r) {
    std::memcpy(block + p.offset + r * p.stride, values.data() + r * p.columns, sizeof(float) * p.columns);
  }
}

std::shared_ptr<const Subwords> read_subword_file(const fs::path& path, bool lowercase) {
  try {
    return std::make_shared<const Subwords>(Subwords::from_bytes(read_file(path), lowercase));
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.find(path.string()) != std::string::npos) throw;
    fail("{}: {}", path.string(), text);
  }
}

}  // namespace

void append_tensors(const ParameterLayout& layout, const float* block, const std::string& prefix, std::vector<std::vector<float>>& storage,
                    std::vector<NamedTensor>& tensors) {
  for (const auto& e : layout.entries()) {
    const Parameter& p = e.parameter;
    std::vector<float> packed(static_cast<size_t>(p.rows * p.columns));
    for (int64_t r = 0; r < p.rows; ++r) std::memcpy(packed.data() + r * p.columns, block + p.offset + r * p.stride, sizeof(float) * p.columns);
    storage.push_back(std::move(packed));
    const std::vector<float>& s = storage.back();
    tensors.push_back({prefix + e.name, "F32", file_shape(e), {reinterpret_cast<const char*>(s.data()), s.size() * sizeof(float)}});
  }
}

void write_parameters(const fs::path& path, const ParameterLayout& layout, const float* block, const Metadata& metadata) {
  std::vector<std::vector<float>> storage;
  std::vector<NamedTensor> tensors;
  append_tensors(layout, block, "", storage, tensors);
  write_safetensors(path, tensors, metadata);
}

void read_tensors(const SafetensorsFile& file, const ParameterLayout& layout, const std::string& prefix, float* block) {
  std::fill_n(block, layout.size(), 0.0f);
  for (const auto& e : layout.entries()) read_entry(file, e, prefix, block);
}

void read_parameters(const SafetensorsFile& file, const ParameterLayout& layout, float* block) {
  read_tensors(file, layout, "", block);
  // Other programs write the tied output matrix a second time: equal is fine, different would silently be ignored.
  const NamedTensor* output = file.find("output.weight");
  const NamedTensor* tied = file.find("embedding.weight");
  if (tied == nullptr) tied = file.find("decoder.embedding.weight");
  const auto& entries = layout.entries();
  const bool is_own = std::any_of(entries.begin(), entries.end(), [](const auto& e) { return e.name == "output.weight"; });
  if (output != nullptr && tied != nullptr && !is_own) {
    check(output->shape == tied->shape && output->bytes == tied->bytes,
          "{}: the config ties the output to the embedding, but the file's output.weight differs from its {}", file.where(), tied->name);
  }
}

void write_config(const fs::path& directory, const ModelConfig& config, const SubwordPair& subwords, const Json& training) {
  ModelConfig copy = config;
  Json j;
  j["format_version"] = kFormatVersion;
  j["architecture"] = "transformer";
  j["source_vocabulary"] = config.source_vocabulary;
  j["target_vocabulary"] = config.target_vocabulary;
  j["joint_vocabulary"] = subwords.joint();
  j["lowercase"] = subwords.source->lowercase();
  j["model"] = model_settings(copy).to_json();
  j["training"] = training;
  make_folder(directory);
  if (subwords.joint()) {
    write_file(directory / "joint.spm", subwords.source->bytes());
  } else {
    write_file(directory / "source.spm", subwords.source->bytes());
    write_file(directory / "target.spm", subwords.target->bytes());
  }
  write_file(directory / "config.json", j.dump(2) + "\n");
}

ModelConfig read_config(const fs::path& directory, Json* training) {
  const fs::path path = directory / "config.json";
  check(fs::is_directory(directory), "{}: expected a model directory, found {}", directory.string(), fs::exists(directory) ? "a file" : "nothing there");
  const Json j = parse_config(path);
  check_format(j, path);
  check(j.value("architecture", "") == "transformer", "{}: architecture {}: expected \"transformer\"", path.string(),
        j.contains("architecture") ? j["architecture"].dump() : "missing");
  ModelConfig config;
  model_settings(config).from_json(j.contains("model") ? j["model"] : Json(), path.string() + ": model");
  config.source_vocabulary = vocabulary(j, "source_vocabulary", path);
  config.target_vocabulary = vocabulary(j, "target_vocabulary", path);
  config.validate();
  if (training != nullptr && j.contains("training")) *training = j["training"];
  return config;
}

SubwordPair read_subwords(const fs::path& directory) {
  const fs::path path = directory / "config.json";
  const Json j = parse_config(path);
  const bool lowercase = j.contains("lowercase") && j["lowercase"].is_boolean() && j["lowercase"].get<bool>();
  SubwordPair pair;
  if (j.contains("joint_vocabulary") && j["joint_vocabulary"] == true) {
    pair.source = pair.target = read_subword_file(directory / "joint.spm", lowercase);
  } else {
    pair.source = read_subword_file(directory / "source.spm", lowercase);
    pair.target = read_subword_file(directory / "target.spm", lowercase);
  }
  return pair;
}

LoadedModel load_model(const fs::path& directory) {
  LoadedModel m;
  m.config = read_config(directory, &m.training);
  m.subwords = read_subwords(directory);
  check(m.subwords.source->size() == m.config.source_vocabulary && m.subwords.target->size() == m.config.target_vocabulary,
        "{}: config.json speaks of {} source and {} target symbols, the subword models have {} and {}", directory.string(),
        m.config.source_vocabulary, m.config.target_vocabulary, m.subwords.source->size(), m.subwords.target->size());
  m.model = make_model(m.config);
  auto block = std::make_shared<std::vector<float>>(m.model->layout().size());
  read_parameters(SafetensorsFile::read(directory / "model.safetensors"), m.model->layout(), block->data());
  m.parameters = std::move(block);
  return m;
}

}  // namespace jumok
