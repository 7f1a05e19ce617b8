#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  File() {
    std::string name = (fs::temp_directory_path() / "jumok-file-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~File() override { fs::remove_all(folder_); }

  fs::path at(const std::string& name) const { return folder_ / name; }
  int entries() const { return static_cast<int>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }

  static void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  static std::string get(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // The message of an Error, which is one line and names `path`.
  template <typename Action>
  static std::string error_of(const fs::path& path, Action action) {
    try {
      action();
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path.string() + ": ")) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos);
      return text.substr(path.string().size() + 2);
    }
    return "";
  }
  std::string read_error(const std::string& name) {
    return error_of(at(name), [&] { read_file(at(name)); });
  }

  fs::path folder_;
};

std::string sample(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 2654435761u) >> 13);
  return bytes;
}

TEST_F(File, AllBytesComeBackPlainAndCompressed) {
  for (const size_t size : {0, 1, 65535, 65536, 65537, 1'000'000}) {
    for (const char* name : {"plain.bin", "packed.gz"}) {
      write_file(at(name), sample(size));
      ASSERT_EQ(read_file(at(name)), sample(size)) << name << " " << size;
    }
    ASSERT_EQ(get(at("plain.bin")), sample(size));
  }
  EXPECT_EQ(get(at("packed.gz")).substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(entries(), 2);  // no temporary file stays
}

TEST_F(File, APlainFileThatLooksCompressedIsNotUnpacked) {
  write_file(at("a.gz"), "hello");
  const std::string packed = get(at("a.gz"));
  put(at("a.bin"), packed);
  EXPECT_EQ(read_file(at("a.bin")), packed);
}

TEST_F(File, CompressedFilesInSeveralPartsAreReadWhole) {
  write_file(at("a.gz"), "one\n");
  write_file(at("b.gz"), "two\n");
  put(at("c.gz"), get(at("a.gz")) + get(at("b.gz")));
  EXPECT_EQ(read_file(at("c.gz")), "one\ntwo\n");
}

TEST_F(File, WhatCannotBeReadIsRefusedByName) {
  EXPECT_EQ(read_error("absent"), "expected a file, found nothing there");
  fs::create_directory(at("folder"));
  EXPECT_EQ(read_error("folder"), "expected a file, found a directory");
  put(at("text.gz"), "not compressed");
  EXPECT_EQ(read_error("text.gz"), "expected gzip data, found something else");
  put(at("empty.gz"), "");
  EXPECT_EQ(read_error("empty.gz"), "expected gzip data, found an empty file");
  fs::create_symlink(at("loop"), at("loop"));
  EXPECT_NE(read_error("loop"), "");
  EXPECT_NE(read_error(std::string(5000, 'n')), "");
}

TEST_F(File, CompressedFilesCutAnywhereOrDamagedAreRefused) {
  write_file(at("whole.gz"), sample(200));
  const std::string packed = get(at("whole.gz"));
  for (size_t size = 0; size < packed.size(); ++size) {
    put(at("cut.gz"), packed.substr(0, size));
    ASSERT_NE(read_error("cut.gz"), "") << size;
  }
  for (const size_t back : {1, 5}) {  // length and checksum at the end
    std::string damaged = packed;
    damaged[damaged.size() - back] ^= 1;
    put(at("damaged.gz"), damaged);
    EXPECT_NE(read_error("damaged.gz"), "");
  }
}

// gzip ignores it, and so may hide half a file.
TEST_F(File, AnythingButZerosBehindCompressedDataIsRefused) {
  write_file(at("a.gz"), "one\n");
  const std::string packed = get(at("a.gz"));
  put(at("padded.gz"), packed + std::string(512, '\0'));
  EXPECT_EQ(read_file(at("padded.gz")), "one\n");
  put(at("b.gz"), packed + "two\n");
  EXPECT_EQ(read_error("b.gz"), "expected the end of the compressed data, found 4 bytes of something else");
  put(at("c.gz"), packed + std::string(4, '\0') + "x");
  EXPECT_NE(read_error("c.gz"), "");
  put(at("d.gz"), packed + packed.substr(0, packed.size() / 2));
  EXPECT_EQ(read_error("d.gz"), "the compressed data is cut short");
  put(at("e.gz"), packed + "\x1f\x8b" + std::string(40, 'x'));
  EXPECT_NE(read_error("e.gz").find("damaged"), std::string::npos);
}

TEST_F(File, AnErrorOfADamagedFileNamesItOnce) {
  write_file(at("a.gz"), sample(200));
  std::string packed = get(at("a.gz"));
  packed[packed.size() - 5] ^= 1;
  put(at("a.gz"), packed);
  const std::string error = read_error("a.gz");
  EXPECT_EQ(error.find("a.gz"), std::string::npos) << error;
  EXPECT_NE(error.find("damaged: incorrect data check"), std::string::npos) << error;
}

TEST_F(File, PipesAndFilesOfUntoldSizeAreRead) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::thread writer([&] { put(at("pipe"), sample(300'000)); });
  EXPECT_EQ(read_file(at("pipe")), sample(300'000));
  writer.join();
  EXPECT_FALSE(read_file("/proc/self/status").empty());
}

TEST_F(File, WithoutCommitTheOldFileStays) {
  write_file(at("a"), "old");
  {
    AtomicFile file(at("a"));
    file.write("new");
    EXPECT_EQ(get(at("a")), "old");
  }
  EXPECT_EQ(get(at("a")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, TwoWritersOfOneNameDoNotMix) {
  AtomicFile first(at("a")), second(at("a"));
  first.write("first");
  second.write("second, longer");
  first.commit();
  EXPECT_EQ(get(at("a")), "first");
  second.commit();
  EXPECT_EQ(get(at("a")), "second, longer");
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, WhatCannotBeWrittenIsRefusedByName) {
  EXPECT_NE(error_of(at("no/such/folder"), [&] { write_file(at("no/such/folder"), "x"); }), "");
  EXPECT_EQ(error_of(folder_, [&] { write_file(folder_, "x"); }), "expected a file name, found a directory");
  const std::string name(5000, 'n');
  EXPECT_NE(error_of(at(name), [&] { write_file(at(name), "x"); }), "");
}

TEST_F(File, AFullDeviceIsAnErrorForSmallAndLargeAndStaysADevice) {
  const auto is_device = [](const char* path) {
    struct stat status = {};
    return ::stat(path, &status) == 0 && S_ISCHR(status.st_mode);
  };
  if (!is_device("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  for (const size_t size : {1, 10'000'000}) {
    EXPECT_NE(error_of("/dev/full", [&] { write_file("/dev/full", sample(size)); }).find("No space left"), std::string::npos);
  }
  write_file("/dev/null", "x");
  EXPECT_TRUE(is_device("/dev/full") && is_device("/dev/null"));
}

TEST_F(File, ASymbolicLinkKeepsStanding) {
  write_file(at("target"), "old");
  fs::create_symlink("target", at("link"));
  write_file(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(get(at("target")), "new");
}

TEST_F(File, ASymbolicLinkToNothingKeepsStandingAndItsTargetIsMade) {
  fs::create_directory(at("folder"));
  fs::create_symlink("folder/second", at("first"));
  fs::create_symlink("target", at("folder/second"));
  write_file(at("first"), "new");
  EXPECT_TRUE(fs::is_symlink(at("first")));
  EXPECT_TRUE(fs::is_symlink(at("folder/second")));
  EXPECT_EQ(get(at("folder/target")), "new");
  fs::create_symlink("round", at("round"));
  EXPECT_NE(error_of(at("round"), [&] { write_file(at("round"), "new"); }), "");
  EXPECT_TRUE(fs::is_symlink(at("round")));
}

// A text that only its owner may read does not become everybody's by being written anew.
TEST_F(File, AFileThatIsReplacedKeepsItsPermissions) {
  put(at("private"), "old");
  fs::permissions(at("private"), fs::perms::owner_read | fs::perms::owner_write);
  write_file(at("private"), "new");
  EXPECT_EQ(get(at("private")), "new");
  EXPECT_EQ(fs::status(at("private")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(File, FoldersAreMadeWithParentsOrRefused) {
  make_folder(at("a/b/c"));
  make_folder(at("a/b/c"));
  EXPECT_TRUE(fs::is_directory(at("a/b/c")));
  put(at("file"), "");
  EXPECT_NE(error_of(at("file"), [&] { make_folder(at("file")); }), "");
  EXPECT_NE(error_of(at("file/below"), [&] { make_folder(at("file/below")); }), "");
}

// What will fail after hours of work must be said before it, and saying so must leave nothing behind.
TEST_F(File, ImpossiblePlacesAreKnownBeforehandAndNothingIsMade) {
  put(at("file"), "");
  check_folder_place(at("a/b/c"));
  check_folder_place(at("a/b/c/"));
  check_folder_place(folder_);
  check_file_place(at("new"));
  check_file_place(at("file"));
  check_file_place("/dev/null");
  EXPECT_EQ(entries(), 1);
  EXPECT_NE(error_of(at("file"), [&] { check_folder_place(at("file")); }), "");
  EXPECT_NE(error_of(at("file/a/b"), [&] { check_folder_place(at("file/a/b")); }), "");
  EXPECT_NE(error_of(at("none/new"), [&] { check_file_place(at("none/new")); }), "");
  EXPECT_NE(error_of("/proc/x", [&] { check_folder_place("/proc/x"); }), "");  // nothing can be made there, whatever the rights
  EXPECT_EQ(error_of(folder_, [&] { check_file_place(folder_); }), "expected a file name, found a directory");
  if (::geteuid() == 0) return;  // may write anywhere
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(error_of(at("a/b"), [&] { check_folder_place(at("a/b")); }), "");
  EXPECT_NE(error_of(at("new"), [&] { check_file_place(at("new")); }), "");
  fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(File, AFolderIsHeldByOne) {
  fs::create_directory(at("m"));
  std::optional<FolderLock> first(std::in_place);
  first->hold(at("m"), "training");
  first->hold(at("m"), "training");
  FolderLock second;
  EXPECT_EQ(error_of(at("m"), [&] { second.hold(at("m"), "training"); }), "another training is at work in this folder");
  first.reset();
  second.hold(at("m"), "training");
  FolderLock third;
  third.hold(at("none"), "training");
  EXPECT_THROW(third.hold(at("m"), "training"), Error);
}

TEST_F(File, AFolderIsCalledAsItsUserSeesIt) {
  EXPECT_EQ(folder_name(at("m")), "m");
  EXPECT_EQ(folder_name(at("m/")), "m");
  EXPECT_EQ(folder_name(at("n/../m/.")), "m");
  EXPECT_EQ(folder_name(at("ko/model/")), "ko/model");
}

TEST_F(File, LeftoversGoButNotAFileThatIsBeingWritten) {
  put(at("model.safetensors.jumok-tmp-1-0"), "left by a killed process");
  put(at("other"), "");
  std::optional<AtomicFile> file(at("model.safetensors"));
  file->write("new");
  remove_leftovers(folder_);
  EXPECT_FALSE(fs::exists(at("model.safetensors.jumok-tmp-1-0")));
  EXPECT_TRUE(fs::exists(at("other")));
  file->commit();
  EXPECT_EQ(get(at("model.safetensors")), "new");
  remove_leftovers(at("no such folder"));
}

}  // namespace
}  // namespace jumok
