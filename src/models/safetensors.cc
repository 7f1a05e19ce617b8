#include "models/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/half.h"

namespace jumok {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are handed out as they stand in the file");

constexpr uint64_t kPrefixBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the cap of the reference implementation
constexpr size_t kMaxShownName = 80;

// In the order in which the reference implementation writes them, last first.
struct Dtype {
  std::string_view name;
  int64_t size;
};
constexpr std::array<Dtype, 17> kDtypes{{{"BOOL", 1},
                                         {"U8", 1},
                                         {"I8", 1},
                                         {"F8_E5M2", 1},
                                         {"F8_E4M3", 1},
                                         {"F8_E8M0", 1},
                                         {"I16", 2},
                                         {"U16", 2},
                                         {"F16", 2},
                                         {"BF16", 2},
                                         {"I32", 4},
                                         {"U32", 4},
                                         {"F32", 4},
                                         {"C64", 8},
                                         {"F64", 8},
                                         {"I64", 8},
                                         {"U64", 8}}};

int dtype_rank(std::string_view dtype) {
  const auto found = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const Dtype& d) { return d.name == dtype; });
  return found == kDtypes.end() ? -1 : static_cast<int>(found - kDtypes.begin());
}

// A name as it may stand in a one-line message: quoted, control characters escaped, cut (between characters) when long.
std::string shown(std::string_view name) {
  std::string text = "'";
  for (size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    const bool starts_character = (byte & 0xc0) != 0x80;
    if (i >= kMaxShownName && starts_character) return text + "…'";
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += name[i];
    }
  }
  return text + "'";
}

// elements × size of one, or nothing when that does not fit. An empty dimension does not excuse the others: their product must fit too.
std::optional<int64_t> byte_count(const std::vector<int64_t>& shape, int64_t element_size) {
  int64_t product = element_size;
  bool empty = false;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    empty |= dimension == 0;
    if (__builtin_mul_overflow(product, std::max<int64_t>(dimension, 1), &product)) return std::nullopt;
  }
  return empty ? 0 : product;
}

struct Entry {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::vector<uint64_t> offsets;  // [begin, end)
};

// The header as a stream of JSON events with at most three open brackets: nothing is kept of a value that does not belong where it stands.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& where) : where_(where) {}

  std::vector<Entry> entries;
  Metadata metadata;

  bool start_object(size_t) override {
    if (place_ == Place::kOutside) return enter(Place::kTop);
    if (place_ == Place::kTop && key_ == "__metadata__") return enter(Place::kMetadata);
    if (place_ != Place::kTop) refuse("an object");
    entries.push_back({key_, {}, {}, {}});
    fields_.clear();
    return enter(Place::kTensor);
  }
  bool end_object() override {
    if (place_ == Place::kTensor) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (!fields_.contains(field)) fail("{}: expected a {}, found none", tensor(), field);
      }
    }
    return enter(place_ == Place::kTop ? Place::kOutside : Place::kTop);
  }
  bool key(std::string& name) override {
    std::set<std::string>& seen = place_ == Place::kTop ? names_ : place_ == Place::kMetadata ? metadata_keys_ : fields_;
    const bool is_new = seen.insert(name).second;
    if (place_ == Place::kTensor) {
      const bool known = name == "dtype" || name == "shape" || name == "data_offsets";
      check(known, "{}: expected dtype, shape and data_offsets, found {}", tensor(), shown(name));
      check(is_new, "{}: {} stands there twice", tensor(), name);
      field_ = name;
    } else {
      check(is_new, "{}: the header names {} twice", where_, shown(name));
      key_ = name;
    }
    return true;
  }
  bool start_array(size_t) override {
    if (place_ == Place::kTensor && field_ == "shape") return enter(Place::kShape);
    if (place_ == Place::kTensor && field_ == "data_offsets") return enter(Place::kOffsets);
    refuse("an array");
  }
  bool end_array() override {
    if (place_ == Place::kOffsets) {
      check(entries.back().offsets.size() == 2, "{}: expected 2 data_offsets, found {}", tensor(), entries.back().offsets.size());
    }
    return enter(Place::kTensor);
  }
  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::kShape) {
      if (value > std::numeric_limits<int64_t>::max()) fail("{}: the dimension {} is too large", tensor(), value);
      entries.back().shape.push_back(static_cast<int64_t>(value));
    } else if (place_ == Place::kOffsets) {
      if (entries.back().offsets.size() == 2) fail("{}: expected 2 data_offsets, found more", tensor());
      entries.back().offsets.push_back(value);
    } else {
      refuse("a number");
    }
    return true;
  }
  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      metadata[key_] = value;
    } else if (place_ == Place::kTensor && field_ == "dtype") {
      check(dtype_rank(value) >= 0, "{}: the dtype {} is not known", tensor(), shown(value));
      entries.back().dtype = value;
    } else {
      refuse("a string");
    }
    return true;
  }
  bool number_integer(int64_t value) override { refuse(fmt::format("the number {}", value)); }
  bool number_float(double, const std::string& text) override { refuse("the number " + shown(text)); }
  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool binary(nlohmann::json::binary_t&) override { refuse("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail("{}: the header is not JSON from its byte {} on", where_, position);
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kTensor, kShape, kOffsets };

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  std::string tensor() const { return fmt::format("{}: tensor {}", where_, shown(entries.back().name)); }

  [[noreturn]] void refuse(const std::string& found) const {
    switch (place_) {
      case Place::kOutside:
        fail("{}: expected the header to be one object, found {}", where_, found);
      case Place::kTop:
        fail("{}: header entry {}: expected an object, found {}", where_, shown(key_), found);
      case Place::kMetadata:
        fail("{}: metadata {}: expected a string, found {}", where_, shown(key_), found);
      case Place::kTensor:
        fail("{}: {}: expected {}, found {}", tensor(), field_, field_ == "dtype" ? "a string" : "an array", found);
      case Place::kShape:
        fail("{}: shape: expected whole numbers from 0 up, found {}", tensor(), found);
      case Place::kOffsets:
        break;
    }
    fail("{}: data_offsets: expected 2 whole numbers from 0 up, found {}", tensor(), found);
  }

  const std::string& where_;
  Place place_ = Place::kOutside;
  std::string key_, field_;
  std::set<std::string> names_, metadata_keys_, fields_;
};

// The JSON text inside the file, its length checked before it is used for anything.
std::string_view header_text(std::string_view file, const std::string& where) {
  check(file.size() >= kPrefixBytes, "{}: truncated: expected at least 8 bytes, found {}", where, file.size());
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kPrefixBytes);
  check(length <= kMaxHeaderBytes, "{}: expected a header of at most {} bytes, found its length to be {}", where, kMaxHeaderBytes, length);
  const uint64_t rest = file.size() - kPrefixBytes;
  check(length <= rest, "{}: truncated: expected a header of {} bytes, found {}", where, length, rest);
  const std::string_view text = file.substr(kPrefixBytes, length);
  check(text.starts_with('{'), "{}: expected a header that starts with '{{', found {}", where,
        text.empty() ? "an empty one" : shown(text.substr(0, 1)));
  // The JSON reader takes a NUL for the end of its input; in JSON it is an error anywhere.
  const size_t nul = text.find('\0');
  check(nul == std::string_view::npos, "{}: the header has a NUL at its byte {}", where, nul);
  return text;
}

// The range of every tensor fits its shape, and all ranges in order cover the data section exactly.
void check_ranges(std::vector<Entry>& entries, uint64_t data_size, const std::string& where) {
  for (const Entry& entry : entries) {
    const uint64_t begin = entry.offsets[0], end = entry.offsets[1];
    const auto tensor = [&] { return fmt::format("{}: tensor {}", where, shown(entry.name)); };
    if (begin > end) fail("{}: data_offsets [{}, {}] end before they begin", tensor(), begin, end);
    if (end > data_size) fail("{}: truncated: data_offsets [{}, {}], found {} bytes of data", tensor(), begin, end, data_size);
    const auto bytes = byte_count(entry.shape, dtype_size(entry.dtype));
    if (!bytes) fail("{}: the shape [{}] is too large", tensor(), fmt::join(entry.shape, ", "));
    if (static_cast<uint64_t>(*bytes) != end - begin) {
      fail("{}: {} [{}] needs {} bytes, found data_offsets [{}, {}]", tensor(), entry.dtype, fmt::join(entry.shape, ", "), *bytes, begin,
           end);
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
  uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.offsets[0] != covered) {
      fail("{}: tensor {}: expected data from byte {} on, found data_offsets [{}, {}]: {}", where, shown(entry.name), covered,
           entry.offsets[0], entry.offsets[1], entry.offsets[0] < covered ? "an overlap" : "a hole");
    }
    covered = entry.offsets[1];
  }
  check(covered == data_size, "{}: expected {} bytes of data, found {}", where, covered, data_size);
}

// Elements of type Wide (as they lie in the file) to f32 by `convert`.
template <typename Wide, typename Convert>
std::vector<float> convert_all(std::string_view bytes, Convert convert) {
  std::vector<float> values(bytes.size() / sizeof(Wide));
  for (size_t i = 0; i < values.size(); ++i) {
    Wide element;
    std::memcpy(&element, bytes.data() + i * sizeof(Wide), sizeof(Wide));
    values[i] = convert(element);
  }
  return values;
}

int64_t row_bytes(const NamedTensor& tensor) { return tensor.shape.empty() ? 0 : tensor.shape.back() * dtype_size(tensor.dtype); }

// Bytes between the rows, which the file does not have.
int64_t gaps(const NamedTensor& tensor) {
  const int64_t row = tensor.row_stride > 0 ? row_bytes(tensor) : 0;
  if (row == 0 || tensor.row_stride <= row) return 0;
  return (static_cast<int64_t>(tensor.bytes.size()) - row) / tensor.row_stride * (tensor.row_stride - row);
}

void check_writable(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    check(tensor.name != "__metadata__", "tensor {}: the name is reserved", shown(tensor.name));
    check(names.insert(tensor.name).second, "tensor {}: the name is used twice", shown(tensor.name));
    check(dtype_rank(tensor.dtype) >= 0, "tensor {}: the dtype {} is not known", shown(tensor.name), shown(tensor.dtype));
    const auto bytes = byte_count(tensor.shape, dtype_size(tensor.dtype));
    check(bytes && *bytes + gaps(tensor) == static_cast<int64_t>(tensor.bytes.size()), "tensor {}: expected the bytes of {} [{}], found {}",
          shown(tensor.name), tensor.dtype, fmt::join(tensor.shape, ", "), tensor.bytes.size());
  }
}

// Rows that stand apart are joined in pieces: a copy of the whole tensor would cost its memory once more.
template <typename Write>
void write_rows(const NamedTensor& tensor, Write write) {
  if (gaps(tensor) == 0) return write(tensor.bytes);
  constexpr size_t kPiece = 1 << 18;
  const auto row = static_cast<size_t>(row_bytes(tensor)), stride = static_cast<size_t>(tensor.row_stride);
  std::string piece;
  for (size_t at = 0; at < tensor.bytes.size(); at += stride) {
    piece += tensor.bytes.substr(at, row);
    if (piece.size() < kPiece) continue;
    write(piece);
    piece.clear();
  }
  write(piece);
}

// Wider types first, then by name.
std::vector<const NamedTensor*> in_file_order(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const int rank_a = dtype_rank(a->dtype), rank_b = dtype_rank(b->dtype);
    return rank_a != rank_b ? rank_a > rank_b : a->name < b->name;
  });
  return order;
}

// Length and padded JSON: all that stands in front of the data.
std::string file_start(const std::vector<const NamedTensor*>& order, const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t begin = 0;
  for (const NamedTensor* tensor : order) {
    const uint64_t end = begin + tensor->bytes.size() - gaps(*tensor);
    header[tensor->name] = {{"dtype", tensor->dtype}, {"shape", tensor->shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    fail("expected names and metadata in UTF-8, found other bytes");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check(text.size() <= kMaxHeaderBytes, "expected a header of at most {} bytes, found {}", kMaxHeaderBytes, text.size());
  const uint64_t length = text.size();
  std::string start(kPrefixBytes, '\0');
  std::memcpy(start.data(), &length, kPrefixBytes);
  return start + text;
}

}  // namespace

int64_t dtype_size(std::string_view dtype) {
  const int rank = dtype_rank(dtype);
  return rank < 0 ? 0 : kDtypes[static_cast<size_t>(rank)].size;
}

SafetensorsFile SafetensorsFile::read(const std::filesystem::path& path) { return parse(read_file(path), path.string()); }

SafetensorsFile SafetensorsFile::parse(std::string bytes, std::string where) {
  SafetensorsFile file;
  file.where_ = std::move(where);
  file.bytes_ = std::make_shared<const std::string>(std::move(bytes));
  const std::string_view all = *file.bytes_;
  const std::string_view text = header_text(all, file.where_);
  HeaderReader header(file.where_);
  nlohmann::json::sax_parse(text.begin(), text.end(), &header);
  const std::string_view data = all.substr(kPrefixBytes + text.size());
  check_ranges(header.entries, data.size(), file.where_);
  for (Entry& entry : header.entries) {
    file.index_[entry.name] = file.tensors_.size();
    const std::string_view range = data.substr(entry.offsets[0], entry.offsets[1] - entry.offsets[0]);
    file.tensors_.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape), range, 0});
  }
  file.metadata_ = std::move(header.metadata);
  return file;
}

const NamedTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const NamedTensor& SafetensorsFile::at(std::string_view name) const {
  const NamedTensor* tensor = find(name);
  check(tensor != nullptr, "{}: expected a tensor {}, found none of that name", where_, shown(name));
  return *tensor;
}

std::string safetensors_bytes(std::span<const NamedTensor> tensors, const Metadata& metadata) {
  check_writable(tensors);
  const auto order = in_file_order(tensors);
  std::string bytes = file_start(order, metadata);
  for (const NamedTensor* tensor : order) write_rows(*tensor, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors, const Metadata& metadata) {
  try {
    check_writable(tensors);
    const auto order = in_file_order(tensors);
    const std::string start = file_start(order, metadata);
    AtomicFile file(path);
    file.write(start);
    for (const NamedTensor* tensor : order) write_rows(*tensor, [&](std::string_view piece) { file.write(piece); });
    file.commit();
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.starts_with(path.string())) throw;
    fail("{}: {}", path.string(), text);
  }
}

std::vector<float> to_f32(const NamedTensor& tensor) {
  if (tensor.dtype == "F32") return convert_all<float>(tensor.bytes, [](float x) { return x; });
  if (tensor.dtype == "F64") return convert_all<double>(tensor.bytes, [](double x) { return static_cast<float>(x); });
  if (tensor.dtype == "F16") return convert_all<uint16_t>(tensor.bytes, f16_to_f32);
  if (tensor.dtype == "BF16") return convert_all<uint16_t>(tensor.bytes, bf16_to_f32);
  fail("tensor {}: expected F32, F64, F16 or BF16, found {}", shown(tensor.name), tensor.dtype);
}

}  // namespace jumok
