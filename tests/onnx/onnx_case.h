// One operator case of ONNX: attributes and tensors, as data/README.md lays them out.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "models/safetensors.h"

namespace jumok::onnx {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;      // of F32, and of booleans as 0 and 1
  std::vector<int64_t> integers;  // of I64

  int64_t dim(int64_t axis) const { return shape[static_cast<size_t>(axis)]; }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t size_from(int64_t first, int64_t last) const {
    int64_t n = 1;
    for (int64_t a = first; a < last; ++a) n *= dim(a);
    return n;
  }
  int64_t size() const { return size_from(0, rank()); }
};

class Case {
 public:
  Case(std::string name, nlohmann::json entry, const SafetensorsFile& file)
      : name_(std::move(name)), entry_(std::move(entry)), file_(&file) {}

  const std::string& name() const { return name_; }
  bool has_input(const char* input) const { return has("inputs", input); }
  bool has_output(const char* output) const { return has("outputs", output); }
  Tensor input(const char* input) const { return tensor("/in/", input); }
  Tensor output(const char* output) const { return tensor("/out/", output); }
  bool is_boolean(const char* input) const { return entry_["types"].value(input, "") == "bool"; }

  template <typename T>
  T attribute(const char* attribute, T otherwise) const {
    return entry_["attributes"].value(attribute, otherwise);
  }

 private:
  bool has(const char* side, const std::string& tensor) const {
    for (const auto& name : entry_[side]) {
      if (name == tensor) return true;
    }
    return false;
  }
  Tensor tensor(const char* side, const std::string& name) const {
    const NamedTensor& t = file_->at(name_ + side + name);
    Tensor result{t.shape, {}, {}};
    if (t.dtype == "F32") result.values = to_f32(t);
    if (t.dtype == "U8" || t.dtype == "BOOL") {
      for (char byte : t.bytes) result.values.push_back(byte ? 1.0f : 0.0f);
    }
    if (t.dtype == "I64") {
      result.integers.resize(t.bytes.size() / sizeof(int64_t));
      std::memcpy(result.integers.data(), t.bytes.data(), t.bytes.size());
    }
    return result;
  }

  std::string name_;
  nlohmann::json entry_;
  const SafetensorsFile* file_;
};

// All cases of an operator, from data/FILE.safetensors.
inline std::vector<Case> cases_of(const char* op, const SafetensorsFile& file) {
  const auto index = nlohmann::json::parse(read_file(std::string(JUMOK_TEST_DATA) + "/index.json"));
  std::vector<Case> cases;
  for (const auto& [name, entry] : index.items()) {
    if (entry["op"] == op) cases.emplace_back(name, entry, file);
  }
  return cases;
}
inline SafetensorsFile data_file(const char* name) {
  return SafetensorsFile::read(std::string(JUMOK_TEST_DATA) + "/" + name + ".safetensors");
}

// Within 1e-5, relative above 1; infinities exactly.
inline void expect_values(const std::vector<float>& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.values.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    const float e = expected.values[i];
    if (std::isinf(e)) {
      ASSERT_EQ(actual[i], e) << what << " element " << i;
    } else {
      ASSERT_NEAR(actual[i], e, 1e-5 * std::max(1.0f, std::abs(e))) << what << " element " << i;
    }
  }
}

}  // namespace jumok::onnx
