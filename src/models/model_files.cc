#include "models/model_files.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/rng.h"

namespace jumok {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
namespace {

// "config.json: line 3, column 7: expected a JSON object: unexpected '}'; expected string literal", both from 1. Of the library's own message,
// "[json.exception.parse_error.101] parse error at line 3, column 7: syntax error while parsing … - unexpected …", the end says it.
std::string describe_damage(const fs::path& path, std::string_view text, const Json::parse_error& error) {
  const std::string_view before = text.substr(0, std::min(text.size(), error.byte > 0 ? error.byte - 1 : 0));
  const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  const std::string_view what = error.what();
  const size_t dash = what.find(" - ");
  return fmt::format("{}: line {}, column {}: expected a JSON object: {}", path.string(), line, column, dash == what.npos ? what : what.substr(dash + 3));
}

// Refuses what the parser would take without a word: a key that stands twice in an object, of which it keeps the last, and values within
// values so deep that copying them overflows the stack.
Json::parser_callback_t strictly(const fs::path& path) {
  return [&path, open = std::vector<std::set<std::string>>()](int depth, Json::parse_event_t event, Json& parsed) mutable {
    constexpr int kDeepest = 16;
    check(depth <= kDeepest, "{}: expected values at most {} deep", path.string(), kDeepest);
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      check(open.back().insert(key).second, "{}: expected each key once, \"{:.100}\" stands there twice", path.string(), key);
    }
    return true;
  };
}

Json parse_config(const fs::path& path) {
  const std::string text = read_file(path);
  try {
    const Json config = Json::parse(text, strictly(path));
    check(config.is_object(), "{}: expected a JSON object, found {}", path.string(), config.type_name());
    return config;
  } catch (const Json::parse_error& e) {
    fail("{}", describe_damage(path, text, e));
  } catch (const Json::exception& e) {  // a number beyond all numbers
    fail("{}: expected a JSON object: {}", path.string(), e.what());
  }
}

// A whole number above 0, of up to 64 bits: a larger one than expected must not wrap around to a good one.
uint64_t positive(const Json& config, const char* key, const fs::path& path) {
  check(config.contains(key) && config[key].is_number_unsigned() && config[key] > 0u, "{}: expected a positive integer \"{}\"",
        path.string(), key);
  return config[key];
}

void check_format(const Json& config, const fs::path& path) {
  const uint64_t version = positive(config, "format_version", path);
  check(version <= kFormatVersion, "{}: the model has format version {}, this program reads up to {}: a newer jumok is needed",
        path.string(), version, kFormatVersion);
}

int vocabulary(const Json& config, const char* key, const fs::path& path) {
  const uint64_t size = positive(config, key, path);
  check(size <= std::numeric_limits<int>::max(), "{}: {} = {}: no vocabulary is that large", path.string(), key, size);
  return static_cast<int>(size);
}

bool flag(const Json& config, const char* key, const fs::path& path) {
  check(config.contains(key) && config[key].is_boolean(), "{}: expected \"{}\" to be true or false, found {}", path.string(), key,
        config.contains(key) ? config[key].dump() : "nothing");
  return config[key];
}

std::vector<int64_t> file_shape(const ParameterLayout::Entry& e) {
  if (e.is_vector) return {e.parameter.columns};
  return {e.parameter.rows, e.parameter.columns};
}

// The tensor of a parameter; Error when the file has none, or one of another shape.
const NamedTensor& tensor_of(const SafetensorsFile& file, const ParameterLayout::Entry& e, const std::string& prefix) {
  const NamedTensor& tensor = file.at(prefix + e.name);
  check(tensor.shape == file_shape(e), "{}: tensor {}: expected shape [{}], found [{}]", file.where(), tensor.name,
        fmt::join(file_shape(e), ", "), fmt::join(tensor.shape, ", "));
  return tensor;
}

std::vector<float> numbers_of(const SafetensorsFile& file, const NamedTensor& tensor) {
  try {
    return to_f32(tensor);
  } catch (const Error& e) {
    fail("{}: {}", file.where(), e.what());
  }
}

void read_entry(const SafetensorsFile& file, const ParameterLayout::Entry& e, const std::string& prefix, float* block) {
  const std::vector<float> values = numbers_of(file, tensor_of(file, e, prefix));
  const Parameter& p = e.parameter;
  for (int64_t r = 0; r < p.rows; ++r) {
    std::memcpy(block + p.offset + r * p.stride, values.data() + r * p.columns, sizeof(float) * p.columns);
  }
}

// Other programs write the tied output matrix a second time: equal is fine, different would silently be ignored.
void check_tied_output(const SafetensorsFile& file, const NamedTensor& output) {
  const NamedTensor* tied = file.find("embedding.weight");
  if (tied == nullptr) tied = &file.at("decoder.embedding.weight");
  check(output.shape == tied->shape && output.dtype == tied->dtype && output.bytes == tied->bytes,
        "{}: the config ties the output to the embedding, but the file's output.weight differs from its {}", file.where(), tied->name);
}

// The file's tensors are the parameters of the layout, no more and no fewer: a config with too few layers must not pass unnoticed.
void check_tensors(const SafetensorsFile& file, const ParameterLayout& layout) {
  std::set<std::string_view> known;
  for (const auto& e : layout.entries()) known.insert(tensor_of(file, e, "").name);
  for (const NamedTensor& tensor : file.tensors()) {
    if (known.contains(tensor.name)) continue;
    check(tensor.name == "output.weight", "{}: tensor {}: the model that the config describes has no such parameter", file.where(),
          tensor.name);
    check_tied_output(file, tensor);
  }
}

std::string hash_of(std::string_view bytes) { return fmt::format("{:016x}", hash_text(bytes)); }  // 16 hexadecimal digits

// SentencePiece 0.1.97 can crash on a damaged model, so its bytes are compared with the hash in config.json first. Models without hashes
// load too.
void check_hash(const Json& config, const fs::path& path, std::string_view bytes) {
  if (!config.contains("subword_hash")) return;
  const Json& hashes = config["subword_hash"];
  const std::string name = path.filename().string(), config_path = (path.parent_path() / "config.json").string();
  check(hashes.is_object() && hashes.contains(name) && hashes[name].is_string(), "{}: subword_hash: expected a text for {}", config_path,
        name);
  const std::string expected = hashes[name], found = hash_of(bytes);
  check(found == expected, "{}: damaged, or not the file this model was trained with: its hash is {}, {} says {}", path.string(), found,
        config_path, expected);
}

std::shared_ptr<const Subwords> read_subword_file(const fs::path& path, const Json& config, bool lowercase) {
  std::string bytes = read_file(path);
  check_hash(config, path, bytes);
  return std::make_shared<const Subwords>(Subwords::from_bytes(std::move(bytes), lowercase, path.string()));
}

}  // namespace

void append_tensors(const ParameterLayout& layout, const float* block, const std::string& prefix, std::vector<NamedTensor>& tensors) {
  constexpr int64_t kFloat = sizeof(float);
  for (const auto& e : layout.entries()) {
    const Parameter& p = e.parameter;
    const int64_t span = (p.rows - 1) * p.stride + p.columns;
    const std::string_view bytes(reinterpret_cast<const char*>(block + p.offset), static_cast<size_t>(span * kFloat));
    tensors.push_back({prefix + e.name, "F32", file_shape(e), bytes, p.stride * kFloat});
  }
}

void write_parameters(const fs::path& path, const ParameterLayout& layout, const float* block, const Metadata& metadata) {
  std::vector<NamedTensor> tensors;
  append_tensors(layout, block, "", tensors);
  write_safetensors(path, tensors, metadata);
}

void read_tensors(const SafetensorsFile& file, const ParameterLayout& layout, const std::string& prefix, float* block) {
  std::fill_n(block, layout.size(), 0.0f);
  for (const auto& e : layout.entries()) read_entry(file, e, prefix, block);
}

void read_parameters(const SafetensorsFile& file, const ParameterLayout& layout, float* block) {
  check_tensors(file, layout);
  read_tensors(file, layout, "", block);
}

void write_config(const fs::path& directory, const ModelConfig& config, const SubwordPair& subwords, const Json& training) {
  ModelConfig copy = config;
  Json j;
  j["format_version"] = kFormatVersion;
  j["architecture"] = architecture_name(config.architecture);
  j["source_vocabulary"] = config.source_vocabulary;
  j["target_vocabulary"] = config.target_vocabulary;
  j["joint_vocabulary"] = subwords.joint();
  j["lowercase"] = subwords.source->lowercase();
  const auto write_subwords = [&](const char* name, const Subwords& side) {
    write_file(directory / name, side.bytes());
    j["subword_hash"][name] = hash_of(side.bytes());
  };
  make_folder(directory);
  if (subwords.joint()) {
    write_subwords("joint.spm", *subwords.source);
  } else {
    write_subwords("source.spm", *subwords.source);
    write_subwords("target.spm", *subwords.target);
  }
  j["model"] = model_settings(copy).to_json();
  j["training"] = training;
  write_file(directory / "config.json", j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

ModelConfig read_config(const fs::path& directory, Json* training) {
  const fs::path path = directory / "config.json";
  std::error_code error;
  const auto status = fs::status(directory, error);
  check(fs::is_directory(status), "{}: expected a model directory, found {}", directory.string(),
        fs::exists(status)                          ? "a file"
        : status.type() == fs::file_type::not_found ? "nothing there"
                                                    : error.message());
  const Json j = parse_config(path);
  check_format(j, path);
  check(j.contains("architecture") && j["architecture"].is_string(), "{}: architecture: expected a name, found {}", path.string(),
        j.contains("architecture") ? j["architecture"].dump() : "nothing");
  ModelConfig config = [&] {
    try {
      return empty_config(parse_architecture(j["architecture"]));
    } catch (const Error& e) {
      fail("{}: {}", path.string(), e.what());
    }
  }();
  model_settings(config).from_json(j.contains("model") ? j["model"] : Json(), path.string() + ": model");
  config.source_vocabulary = vocabulary(j, "source_vocabulary", path);
  config.target_vocabulary = vocabulary(j, "target_vocabulary", path);
  try {
    config.validate();
  } catch (const Error& e) {
    fail("{}: {}", path.string(), e.what());
  }
  if (training != nullptr && j.contains("training")) *training = j["training"];
  return config;
}

SubwordPair read_subwords(const fs::path& directory) {
  const fs::path path = directory / "config.json";
  const Json j = parse_config(path);
  const bool lowercase = flag(j, "lowercase", path);
  SubwordPair pair;
  if (flag(j, "joint_vocabulary", path)) {
    pair.source = pair.target = read_subword_file(directory / "joint.spm", j, lowercase);
  } else {
    pair.source = read_subword_file(directory / "source.spm", j, lowercase);
    pair.target = read_subword_file(directory / "target.spm", j, lowercase);
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
  const SafetensorsFile file = SafetensorsFile::read(directory / "model.safetensors");
  m.model = make_model(m.config);
  check_tensors(file, m.model->layout());  // before memory is taken: a damaged config may ask for any amount
  auto block = std::make_shared<std::vector<float>>(m.model->layout().size());
  read_tensors(file, m.model->layout(), "", block->data());
  m.parameters = std::move(block);
  return m;
}

}  // namespace jumok
