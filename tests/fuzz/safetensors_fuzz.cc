// libFuzzer: any bytes are refused with one line or load, and what loads is written and read back equal.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "models/safetensors.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

bool same(const jumok::NamedTensor& a, const jumok::NamedTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  try {
    const auto file = jumok::SafetensorsFile::parse(std::string(reinterpret_cast<const char*>(bytes), size), "fuzz");
    const auto again = jumok::SafetensorsFile::parse(jumok::safetensors_bytes(file.tensors(), file.metadata()), "again");
    expect(again.metadata() == file.metadata() && again.tensors().size() == file.tensors().size());
    for (const auto& tensor : file.tensors()) {
      expect(same(again.at(tensor.name), tensor));
      if (tensor.dtype == "F32" || tensor.dtype == "F16") (void)jumok::to_f32(tensor);
    }
  } catch (const jumok::Error& error) {
    expect(std::string(error.what()).find('\n') == std::string::npos);
  }
  return 0;
}
