// Named tensors in one file, in the safetensors format: 8 bytes little-endian N, N bytes of JSON, then the data section.
//   {"__metadata__": {"key": "text", ...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
// Offsets count from the start of the data section; the tensors cover it without overlap or hole; numbers are little-endian, row-major.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jumok {

using Metadata = std::map<std::string, std::string>;

struct NamedTensor {
  std::string name;
  std::string dtype;           // BOOL U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 I16 U16 F16 BF16 I32 U32 F32 C64 F64 I64 U64
  std::vector<int64_t> shape;  // outermost first; empty: a scalar, one element
  std::string_view bytes;      // elements × size of the dtype; not aligned; lives as long as its owner
  // For writing, where rows stand apart in memory: bytes from one row (the last dimension) to the next, and `bytes` reaches from the first
  // row to the end of the last. 0: they do not.
  int64_t row_stride = 0;
};

// A file in memory, checked in full before anything of it is handed out. Copies share the bytes; tensors() point into them.
class SafetensorsFile {
 public:
  // Throws Error, one line naming the file, the tensor and what was found, for anything but a well-formed file: "truncated" where bytes are
  // missing.
  static SafetensorsFile read(const std::filesystem::path& path);
  // The same from bytes; `where` stands in errors for the path.
  static SafetensorsFile parse(std::string bytes, std::string where);

  const std::vector<NamedTensor>& tensors() const { return tensors_; }  // in the order of their data
  const Metadata& metadata() const { return metadata_; }
  const std::string& where() const { return where_; }

  const NamedTensor* find(std::string_view name) const;  // null when there is none
  const NamedTensor& at(std::string_view name) const;    // Error when there is none

 private:
  std::string where_;
  std::shared_ptr<const std::string> bytes_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  Metadata metadata_;
};

// The bytes of a file as the reference implementation lays it out: wider types first, then by name (so every tensor is aligned to its
// element), header padded with spaces to a multiple of 8. Throws Error for a wrong byte count, an unknown dtype, a name used twice or
// reserved.
std::string safetensors_bytes(std::span<const NamedTensor> tensors, const Metadata& metadata = {});

// The same into a file, atomically: under `path` there is always the complete old or the complete new file (base/file.h).
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors, const Metadata& metadata = {});

// The elements as f32, converted by value from F32, F64, F16 or BF16; Error naming the tensor for any other dtype.
std::vector<float> to_f32(const NamedTensor& tensor);

// Bytes of one element; 0 for a dtype that is not known.
int64_t dtype_size(std::string_view dtype);

}  // namespace jumok
