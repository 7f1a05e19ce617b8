// Whole files: read, and written so that a crash, a kill or a full disk never leaves half a file under the final name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace jumok {

// The bytes of a file; a name ending in .gz is decompressed, all members of it. Throws Error naming the path when it is missing, a
// directory, unreadable, or (for .gz) damaged, cut short or followed by anything but zeros.
std::string read_file(const std::filesystem::path& path);

// Writes to a temporary name in the same folder. commit() flushes, syncs the file, renames it over `path` and syncs the folder; a file that
// is not committed is removed again. A symbolic link keeps standing (its target is replaced); a device or pipe is written to directly.
// Every failed write throws Error naming the path and the system's reason. Names ending in .gz are compressed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  AtomicFile() = default;
  void follow_links();
  void open_temporary();
  void start_gzip();
  void write_raw(const char* bytes, size_t size);
  void deflate(std::string_view bytes, bool finish);
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  void* gzip_ = nullptr;  // z_stream when the name ends in .gz
  bool committed_ = false;
};

// AtomicFile in one call.
void write_file(const std::filesystem::path& path, std::string_view bytes);

// Holds a folder against other holders, of this process or another, for as long as the object lives or its process does; readers are not
// kept out. A file system without locks gives everybody what they ask for.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  // Does nothing where there is no such folder yet, or one is held already. Error where another holds it, for the same `work`:
  // "m: another training is at work in this folder".
  void hold(const std::filesystem::path& folder, std::string_view work);

 private:
  int descriptor_ = -1;
};

// Creates a folder and its parents; Error when that cannot be done or something else stands there.
void make_folder(const std::filesystem::path& path);

// Whether a later make_folder(path), or writing to a file of that name, can succeed as far as is known now: for saying so before long
// work. They leave nothing behind (a folder is made and taken away again) and throw Error naming the path where it is already clear that it
// will fail.
void check_folder_place(const std::filesystem::path& path);
void check_file_place(const std::filesystem::path& path);

// The name of a folder as its user sees it, however the path is written: "m" for "m", "./m/" and, inside it, ".". "model" alone says
// little, so the folder it is in comes before it: "ko/model".
std::string folder_name(const std::filesystem::path& path);

// Removes the temporary files that a killed process left in `folder`; those still being written, here or elsewhere, stay.
void remove_leftovers(const std::filesystem::path& folder);

}  // namespace jumok
