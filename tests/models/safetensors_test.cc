#include "models/safetensors.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;

const std::string kData = JUMOK_TEST_DATA;

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected \"" << part << "\" in: " << text;
}

std::string little_endian(uint64_t value) { return {reinterpret_cast<const char*>(&value), 8}; }

std::string file_of(const std::string& header, const std::string& data) { return little_endian(header.size()) + header + data; }

std::string one(const std::string& fields) { return "{\"w\":{" + fields + "}}"; }

std::string f32(const std::string& shape, const std::string& offsets) {
  return R"({"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

// The message with which a file is refused: always one line that names the file; "" when it loads.
std::string refusal(const std::string& bytes) {
  try {
    SafetensorsFile::parse(bytes, "m.safetensors");
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with("m.safetensors: ")) << text;
    return text;
  }
  return "";
}

NamedTensor tensor_of(std::string name, std::string dtype, std::vector<int64_t> shape, std::string_view bytes) {
  return {std::move(name), std::move(dtype), std::move(shape), bytes};
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "jumok-safetensors-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  fs::path operator/(const char* name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// --- the length in front (a length used as a size before any check)

TEST(Safetensors, HeaderLengthIsCheckedBeforeItIsUsed) {
  EXPECT_TRUE(says(refusal(little_endian(~uint64_t{0}) + "12345678"), "18446744073709551615"));
  EXPECT_TRUE(says(refusal(little_endian(uint64_t{1} << 40) + "{}"), "at most 100000000"));
  EXPECT_TRUE(says(refusal(little_endian(100'000'000) + "{}"), "truncated"));
  EXPECT_TRUE(says(refusal(little_endian(0)), "starts with '{'"));
  EXPECT_TRUE(says(refusal("12345"), "truncated"));
  EXPECT_TRUE(says(refusal(""), "truncated"));
}

TEST(Safetensors, CutAtAnyByteIsTruncatedNeverAPartialModel) {
  const std::string whole = read_file(kData + "/python.safetensors");
  ASSERT_EQ(refusal(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_TRUE(says(refusal(whole.substr(0, size)), "truncated")) << size;
  EXPECT_TRUE(says(refusal(whole + "x"), "bytes of data"));
}

// --- ranges

TEST(Safetensors, RangeBeyondTheDataNamesTheTensorAndTruncated) {
  const std::string text = refusal(file_of("{\"layer.w\":" + f32("[2]", "[0,8]") + "}", "123456"));
  EXPECT_TRUE(says(text, "'layer.w'"));
  EXPECT_TRUE(says(text, "truncated"));
  EXPECT_TRUE(says(text, "6 bytes"));
}

TEST(Safetensors, ShapeAndRangeMustAgreeWithoutOverflow) {
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[1000,1000]", "[0,4]") + "}", "1234")), "needs 4000000 bytes"));
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[4294967296,4294967296]", "[0,0]") + "}", "")), "too large"));
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[4294967296,4294967296,0]", "[0,0]") + "}", "")), "too large"));
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[18446744073709551615]", "[0,0]") + "}", "")), "too large"));
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[4611686018427387904]", "[0,0]") + "}", "")), "too large"));  // 2^62 · 4 wraps to 0
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[1]", "[0,4,4]") + "}", "1234")), "2 data_offsets"));
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[1]", "[0]") + "}", "1234")), "2 data_offsets"));
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[0]", "[]") + "}", "")), "2 data_offsets"));
  EXPECT_TRUE(says(refusal(file_of("{\"w\":" + f32("[1]", "[4,0]") + "}", "1234")), "end before they begin"));
}

TEST(Safetensors, OverlapsAndHolesAreRefusedAnyHeaderOrderLoads) {
  const auto two = [](const std::string& a, const std::string& b) { return "{\"A\":" + f32("[2]", a) + ",\"B\":" + f32("[2]", b) + "}"; };
  EXPECT_TRUE(says(refusal(file_of(two("[0,8]", "[4,12]"), std::string(12, 'x'))), "overlap"));
  EXPECT_TRUE(says(refusal(file_of(two("[0,8]", "[0,8]"), std::string(8, 'x'))), "overlap"));
  EXPECT_TRUE(says(refusal(file_of(two("[0,8]", "[12,20]"), std::string(20, 'x'))), "hole"));
  EXPECT_TRUE(says(refusal(file_of(two("[4,12]", "[12,20]"), std::string(20, 'x'))), "hole"));
  EXPECT_TRUE(says(refusal(file_of(two("[0,8]", "[8,16]"), std::string(17, 'x'))), "expected 16 bytes of data, found 17"));
  const std::string header = "{\"B\":" + f32("[2]", "[8,16]") + ",\"A\":" + f32("[2]", "[0,8]") + "}";
  const auto file = SafetensorsFile::parse(file_of(header, "aaaaaaaabbbbbbbb"), "m");
  EXPECT_EQ(file.at("A").bytes, "aaaaaaaa");
  EXPECT_EQ(file.at("B").bytes, "bbbbbbbb");
  EXPECT_EQ(file.tensors().at(0).name, "A");
}

TEST(Safetensors, TensorsWithoutElementsAndScalarsLoad) {
  const std::string header = "{\"a\":" + f32("[2]", "[0,8]") + ",\"none\":" + f32("[0,3]", "[8,8]") + ",\"s\":" + f32("[]", "[8,12]") + "}";
  const float values[] = {1.0f, 2.0f, 2.5f};
  const auto file = SafetensorsFile::parse(file_of(header, {reinterpret_cast<const char*>(values), sizeof values}), "m");
  EXPECT_TRUE(to_f32(file.at("none")).empty());
  EXPECT_EQ(file.at("none").shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(to_f32(file.at("s")), (std::vector<float>{2.5f}));
  EXPECT_TRUE(file.at("s").shape.empty());
  // An empty tensor in the midst of another is an overlap like any other.
  EXPECT_TRUE(
      says(refusal(file_of("{\"a\":" + f32("[2]", "[0,8]") + ",\"n\":" + f32("[0]", "[4,4]") + "}", std::string(8, 'x'))), "overlap"));
}

// --- the JSON

TEST(Safetensors, HeaderMustBeOneObjectOfTensors) {
  for (const char* header : {"[]", " {}", "", "null", "\xef\xbb\xbf{}", "\"x\""}) {
    EXPECT_TRUE(says(refusal(file_of(header, "")), "starts with '{'")) << header;
  }
  for (const char* header : {"{", "{}}", "{}{}", "{,}", "{\"a\"}", "{\"a\":}", "{'a':1}", "{} x", "{\"\xff\":1}", "{/**/}"}) {
    EXPECT_TRUE(says(refusal(file_of(header, "")), "not JSON")) << header;
  }
  EXPECT_TRUE(says(refusal(file_of(std::string("{}\0x", 4), "")), "NUL"));  // an end of input for the JSON reader, not for us
  EXPECT_TRUE(says(refusal(file_of("{\"a\":1}", "")), "'a': expected an object, found a number"));
  EXPECT_TRUE(says(refusal(file_of("{\"a\":null}", "")), "expected an object, found null"));
  EXPECT_TRUE(says(refusal(file_of("{\"a\":[]}", "")), "expected an object, found an array"));
  EXPECT_EQ(refusal(file_of("{}", "")), "");
  EXPECT_EQ(refusal(file_of("{}      ", "")), "");
}

TEST(Safetensors, EveryFieldIsThereOnceAndOfItsType) {
  const std::string dtype = R"("dtype":"F32")", shape = R"("shape":[1])", offsets = R"("data_offsets":[0,4])";
  const auto of = [&](const std::string& fields) { return refusal(file_of(one(fields), "1234")); };
  EXPECT_EQ(of(dtype + "," + shape + "," + offsets), "");
  EXPECT_TRUE(says(of(shape + "," + offsets), "expected a dtype"));
  EXPECT_TRUE(says(of(dtype + "," + offsets), "expected a shape"));
  EXPECT_TRUE(says(of(dtype + "," + shape), "expected a data_offsets"));
  EXPECT_TRUE(says(of(dtype + "," + dtype + "," + shape + "," + offsets), "dtype stands there twice"));
  EXPECT_TRUE(says(of(dtype + "," + shape + "," + offsets + ",\"x\":1"), "found 'x'"));
  EXPECT_TRUE(says(of(R"("dtype":"F31",)" + shape + "," + offsets), "'F31' is not known"));
  EXPECT_TRUE(says(of(R"("dtype":"f32",)" + shape + "," + offsets), "'f32' is not known"));
  EXPECT_TRUE(says(of(R"("dtype":32,)" + shape + "," + offsets), "expected a string, found a number"));
  EXPECT_TRUE(says(of(dtype + R"(,"shape":[-1],)" + offsets), "found the number -1"));
  EXPECT_TRUE(says(of(dtype + R"(,"shape":[1.0],)" + offsets), "found the number '1.0'"));
  EXPECT_TRUE(says(of(dtype + R"(,"shape":["1"],)" + offsets), "found a string"));
  EXPECT_TRUE(says(of(dtype + R"(,"shape":[[1]],)" + offsets), "found an array"));
  EXPECT_TRUE(says(of(dtype + R"(,"shape":1,)" + offsets), "expected an array, found a number"));
  EXPECT_TRUE(says(of(dtype + "," + shape + R"(,"data_offsets":[0,4e0])"), "found the number '4e0'"));
  EXPECT_TRUE(says(of(dtype + "," + shape + R"(,"data_offsets":[0,true])"), "found true"));
  EXPECT_TRUE(says(of(dtype + "," + shape + R"(,"data_offsets":[-0,4])"), "data_offsets"));
  EXPECT_TRUE(says(of(dtype + "," + shape + R"(,"data_offsets":[0,18446744073709551616])"), "18446744073709551616"));
}

TEST(Safetensors, MetadataIsStringsOnlyAndNamesAreUnique) {
  EXPECT_EQ(SafetensorsFile::parse(file_of(R"({"__metadata__":{"a":"1","b":""}})", ""), "m").metadata(), (Metadata{{"a", "1"}, {"b", ""}}));
  EXPECT_TRUE(says(refusal(file_of(R"({"__metadata__":{"a":1}})", "")), "metadata 'a': expected a string, found a number"));
  EXPECT_TRUE(says(refusal(file_of(R"({"__metadata__":{"a":{}}})", "")), "expected a string, found an object"));
  EXPECT_TRUE(says(refusal(file_of(R"({"__metadata__":"x"})", "")), "expected an object"));
  EXPECT_TRUE(says(refusal(file_of(R"({"__metadata__":{"a":"1","a":"2"}})", "")), "'a' twice"));
  EXPECT_TRUE(says(refusal(file_of(R"({"__metadata__":{},"__metadata__":{}})", "")), "twice"));
  EXPECT_TRUE(says(refusal(file_of("{\"a\":" + f32("[0]", "[0,0]") + ",\"a\":" + f32("[0]", "[0,0]") + "}", "")), "'a' twice"));
}

TEST(Safetensors, DeepNestingIsRefusedAtOnce) {
  const std::string arrays(2'000'000, '['), objects = [] {
    std::string text;
    for (int i = 0; i < 300'000; ++i) text += "{\"a\":";
    return text;
  }();
  EXPECT_TRUE(says(refusal(file_of("{\"a\":" + arrays, "")), "found an array"));
  EXPECT_TRUE(says(refusal(file_of(objects, "")), "'a'"));
}

TEST(Safetensors, NamesInMessagesStayOnOneShortLine) {
  EXPECT_TRUE(says(refusal(file_of(R"({"a\nb\u0000":1})", "")), R"('a\x0ab\x00')"));
  EXPECT_LT(refusal(file_of("{\"" + std::string(100'000, 'n') + "\":1}", "")).size(), 200u);
}

// --- with the reference implementation

TEST(Safetensors, ReadsAFileOfThePythonLibrary) {
  const auto file = SafetensorsFile::read(kData + "/python.safetensors");
  EXPECT_EQ(file.tensors().size(), 8u);
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt <&>"}}));
  EXPECT_EQ(file.at("b.matrix").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(to_f32(file.at("b.matrix")), (std::vector<float>{0, 0.25f, 0.5f, 0.75f, 1, 1.25f}));
  EXPECT_EQ(to_f32(file.at("half")), (std::vector<float>{1, -2, 65504, 0x1p-24f}));
  EXPECT_EQ(to_f32(file.at("brain")), (std::vector<float>{1, -2.5f, 3.00405527e+38f}));  // 3e38 to bf16, by torch
  EXPECT_EQ(to_f32(file.at("double")), (std::vector<float>{0.1f}));
  EXPECT_EQ(to_f32(file.at("scalar")), (std::vector<float>{2.5f}));
  EXPECT_EQ(file.at("quote \" slash \\ \xc3\xa9\x7f").bytes, std::string("\1\0\1", 3));
  int64_t counts[3];
  ASSERT_EQ(file.at("a.counts").bytes.size(), sizeof counts);
  std::memcpy(counts, file.at("a.counts").bytes.data(), sizeof counts);
  EXPECT_TRUE(counts[0] == 1 && counts[1] == -2 && counts[2] == 3);
}

TEST(Safetensors, WritesTheBytesThePythonLibraryWrites) {
  const std::string theirs = read_file(kData + "/python.safetensors");
  const auto file = SafetensorsFile::parse(theirs, "m");
  std::vector<NamedTensor> shuffled(file.tensors().rbegin(), file.tensors().rend());
  EXPECT_EQ(safetensors_bytes(shuffled, file.metadata()), theirs);
  EXPECT_EQ(safetensors_bytes({}).size(), 16u);
}

TEST(Safetensors, RowsThatStandApartAreWrittenAsIfTheyDidNot) {
  for (const int64_t rows : {1, 2, 300}) {  // 300 rows of 2000 bytes are more than one piece
    const int64_t columns = 500, stride = 516;
    std::vector<float> apart(static_cast<size_t>(rows * stride), -1), dense;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) dense.push_back(apart[static_cast<size_t>(r * stride + c)] = static_cast<float>(r * 1000 + c));
    }
    const auto tensor = [&](const std::vector<float>& values, int64_t span, int64_t row_stride) {
      const std::string_view bytes(reinterpret_cast<const char*>(values.data()), static_cast<size_t>(span) * sizeof(float));
      return NamedTensor{"w", "F32", {rows, columns}, bytes, row_stride * static_cast<int64_t>(sizeof(float))};
    };
    const std::vector<NamedTensor> view = {tensor(apart, (rows - 1) * stride + columns, stride)};
    EXPECT_EQ(safetensors_bytes(view), safetensors_bytes(std::vector{tensor(dense, rows * columns, 0)})) << rows;
    const std::vector<NamedTensor> wrong = {tensor(apart, (rows - 1) * stride + columns - 1, stride)};
    EXPECT_THROW(safetensors_bytes(wrong), Error);
  }
}

TEST(Safetensors, OtherNumberTypesAreNeverReinterpreted) {
  for (const char* dtype : {"I64", "U8", "BOOL", "F8_E4M3", "C64", "I32"}) {
    try {
      to_f32(tensor_of("ids", dtype, {1}, std::string_view("12345678", static_cast<size_t>(dtype_size(dtype)))));
      ADD_FAILURE() << dtype;
    } catch (const Error& error) {
      EXPECT_TRUE(says(error.what(), "'ids'"));
      EXPECT_TRUE(says(error.what(), dtype));
    }
  }
}

// --- writing

TEST(Safetensors, WhatIsWrittenIsCheckedAndFilesNamed) {
  const TemporaryFolder folder;
  const auto message = [&](const std::vector<NamedTensor>& tensors, const Metadata& metadata) -> std::string {
    try {
      write_safetensors(folder / "m.safetensors", tensors, metadata);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(says(message({tensor_of("w", "F32", {2}, "1234")}, {}), "tensor 'w': expected the bytes of F32 [2], found 4"));
  EXPECT_TRUE(says(message({tensor_of("w", "F31", {1}, "1234")}, {}), "not known"));
  EXPECT_TRUE(says(message({tensor_of("w", "F32", {-1}, "")}, {}), "'w'"));
  EXPECT_TRUE(says(message({tensor_of("w", "U8", {1}, "1"), tensor_of("w", "U8", {1}, "1")}, {}), "twice"));
  EXPECT_TRUE(says(message({tensor_of("__metadata__", "U8", {1}, "1")}, {}), "reserved"));
  EXPECT_TRUE(says(message({tensor_of("\xff", "U8", {1}, "1")}, {}), "UTF-8"));
  EXPECT_TRUE(says(message({}, {{"a", "\xff"}}), "m.safetensors"));
  EXPECT_TRUE(fs::is_empty(folder.path()));  // nothing half-written stays
  EXPECT_EQ(message({tensor_of("w", "U8", {1}, "1")}, {}), "");
  EXPECT_EQ(SafetensorsFile::read(folder / "m.safetensors").at("w").bytes, "1");
}

TEST(Safetensors, CopiesKeepTheBytesAlive) {
  std::optional<SafetensorsFile> file = SafetensorsFile::read(kData + "/python.safetensors");
  const SafetensorsFile copy = *file, moved = std::move(*file);
  file.reset();
  EXPECT_EQ(to_f32(copy.at("scalar")), (std::vector<float>{2.5f}));
  EXPECT_EQ(to_f32(moved.at("scalar")), (std::vector<float>{2.5f}));
  EXPECT_EQ(copy.find("absent"), nullptr);
  EXPECT_THROW(copy.at("absent"), Error);
}

// Saves generation after generation until it is killed; each file holds its generation in every byte.
[[noreturn]] void save_for_ever(const fs::path& path, uint8_t generation) {
  for (;; ++generation) {
    const std::string bytes(1 << 18, static_cast<char>(generation));
    const std::vector<NamedTensor> tensors = {tensor_of("w", "U8", {1 << 18}, bytes)};
    write_safetensors(path, tensors, {{"generation", std::to_string(generation)}});
  }
}

TEST(Safetensors, KilledSavesLeaveTheOldOrTheNewFileWhole) {
  const TemporaryFolder folder;
  const fs::path path = folder / "model.safetensors";
  write_safetensors(path, std::vector<NamedTensor>{tensor_of("w", "U8", {3}, std::string_view("\0\0\0", 3))}, {{"generation", "0"}});
  std::mt19937 random(7);
  std::set<std::string> seen;
  // Kills come early, amid the first writes; on a machine too busy for a save in that time, further ones wait longer.
  for (int round = 0; round < 50 || (seen.size() <= 5 && round < 120); ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(path, static_cast<uint8_t>(round * 5));
    ::usleep(random() % (round < 50 ? 12'000 : 200'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto file = SafetensorsFile::read(path);
    const auto generation = static_cast<char>(std::stoi(file.metadata().at("generation")));
    seen.insert(file.metadata().at("generation"));
    ASSERT_EQ(file.at("w").bytes.find_first_not_of(generation), std::string_view::npos) << "round " << round;
  }
  EXPECT_GT(seen.size(), 5u);  // saves did come through
  remove_leftovers(folder.path());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace jumok
