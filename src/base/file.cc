#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/error.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

constexpr char kTemporaryMark[] = ".jumok-tmp-";
constexpr size_t kReadChunk = 1 << 16;

std::string reason() { return std::strerror(errno); }

void check_readable(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) fail("{}: expected a file, found nothing there", path.string());
  if (fs::is_directory(status)) fail("{}: expected a file, found a directory", path.string());
}

// The bytes as they lie there; reads to the end whatever size the system tells (pipes and /proc tell 0).
std::string read_plain(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("{}: cannot be opened: {}", path.string(), reason());
  const auto close = [](const int* d) { ::close(*d); };
  const std::unique_ptr<const int, decltype(close)> closer(&descriptor, close);
  struct stat status = {};
  std::string bytes;
  if (::fstat(descriptor, &status) == 0 && status.st_size > 0) bytes.reserve(static_cast<size_t>(status.st_size) + 1);
  // One byte more than the system tells, so that the end is seen without growing.
  for (size_t size = 0;;) {
    if (size == bytes.size()) bytes.resize(std::max(bytes.capacity(), size + kReadChunk));
    const ssize_t got = ::read(descriptor, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("{}: cannot be read: {}", path.string(), reason());
    size += static_cast<size_t>(got);
    if (got == 0) {
      bytes.resize(size);
      return bytes;
    }
  }
}

// Inflates the members of a gzip file one after the other (RFC 1952 §2.2: a file is any number of them).
class Gunzip {
 public:
  Gunzip(const fs::path& path, std::string_view packed) : path_(path), packed_(packed) {
    constexpr int kGzipWindow = 15 + 16;
    // Memory is all that can be lacking here.
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  std::string run() {
    if (!starts_member()) fail("{}: expected gzip data, found {}", path_.string(), packed_.empty() ? "an empty file" : "something else");
    do {
      member();
    } while (starts_member());
    const bool padded = packed_.find_first_not_of('\0') == std::string_view::npos;  // tapes and block devices fill up with zeros
    if (!padded) fail("{}: expected the end of the compressed data, found {} bytes of something else", path_.string(), packed_.size());
    return std::move(bytes_);
  }

 private:
  bool starts_member() const { return packed_.starts_with("\x1f\x8b"); }

  void member() {
    inflateReset(&stream_);
    for (int code = Z_OK; code != Z_STREAM_END;) {
      if (packed_.empty()) fail("{}: the compressed data is cut short", path_.string());
      const size_t piece = std::min(packed_.size(), size_t{1} << 30);  // zlib counts in 32 bits
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed_.data()));
      stream_.avail_in = static_cast<uInt>(piece);
      code = inflate_piece();
      packed_.remove_prefix(piece - stream_.avail_in);
    }
  }

  // Until the input is used up or the member ends.
  int inflate_piece() {
    char buffer[kReadChunk];
    for (;;) {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof buffer;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      bytes_.append(buffer, sizeof buffer - stream_.avail_out);
      if (code == Z_STREAM_END || (code == Z_OK && stream_.avail_in == 0 && stream_.avail_out > 0)) return code;
      if (code == Z_BUF_ERROR) return Z_OK;  // nothing more comes of this input
      if (code != Z_OK) {
        fail("{}: the compressed data is damaged: {}", path_.string(),
             stream_.msg != nullptr ? stream_.msg : "a preset dictionary is asked for");
      }
    }
  }

  const fs::path& path_;
  std::string_view packed_;  // what is still to be inflated
  std::string bytes_;
  z_stream stream_ = {};
};

}  // namespace

std::string read_file(const fs::path& path) {
  check_readable(path);
  std::string bytes = read_plain(path);
  return path.extension() == ".gz" ? Gunzip(path, bytes).run() : bytes;
}

AtomicFile::AtomicFile(fs::path path) : AtomicFile() {  // whole from here on: a throw below cleans up
  std::error_code error;
  path_ = std::move(path);
  const auto status = fs::status(path_, error);
  if (fs::is_directory(status)) fail("{}: expected a file name, found a directory", path_.string());
  follow_links();
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);  // a device or a pipe is written to, never replaced by a file
  } else {
    open_temporary();
    // Who may read the old file may read the new one, and nobody else.
    if (descriptor_ >= 0 && fs::exists(status)) (void)::fchmod(descriptor_, static_cast<mode_t>(status.permissions()) & 07777);
  }
  if (descriptor_ < 0) fail("{}: cannot be written: {}", path_.string(), reason());
  if (path_.extension() == ".gz") start_gzip();
}

// To where the bytes end up: a symbolic link keeps standing, and its target is made or replaced.
void AtomicFile::follow_links() {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path_, error)); ++links) {
    if (links == kMostLinks) fail("{}: expected a file name, found symbolic links that lead to no end", path_.string());
    path_ = path_.parent_path() / fs::read_symlink(path_, error);
  }
}

// A name of its own, held by a lock for as long as it is written: remove_leftovers of this or another process lets it be.
void AtomicFile::open_temporary() {
  for (int attempt = 0;; ++attempt) {
    temporary_ = path_;
    temporary_ += fmt::format("{}{}-{}", kTemporaryMark, ::getpid(), attempt);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) return;
    struct stat status = {};
    if (::flock(descriptor_, LOCK_EX) != 0 || ::fstat(descriptor_, &status) != 0 || status.st_nlink > 0) return;
    ::close(descriptor_);  // swept away before the lock was there: once more
  }
}

void AtomicFile::start_gzip() {
  auto stream = std::make_unique<z_stream>();
  std::memset(stream.get(), 0, sizeof(z_stream));
  constexpr int kGzipWindow = 15 + 16;
  // Memory is all that can be lacking here.
  if (deflateInit2(stream.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  gzip_ = stream.release();
}

AtomicFile::~AtomicFile() {
  if (gzip_ != nullptr) {
    deflateEnd(static_cast<z_stream*>(gzip_));
    delete static_cast<z_stream*>(gzip_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  if (gzip_ != nullptr) {
    deflate(bytes, false);
  } else {
    write_raw(bytes.data(), bytes.size());
  }
}

void AtomicFile::write_raw(const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t wrote = ::write(descriptor_, bytes, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail("{}: cannot be written: {}", path_.string(), reason());
    bytes += wrote;
    size -= static_cast<size_t>(wrote);
  }
}

void AtomicFile::deflate(std::string_view bytes, bool finish) {
  constexpr size_t kMaxPiece = size_t{1} << 30;  // zlib counts in 32 bits
  for (; bytes.size() > kMaxPiece; bytes.remove_prefix(kMaxPiece)) deflate(bytes.substr(0, kMaxPiece), false);
  auto* stream = static_cast<z_stream*>(gzip_);
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream->avail_in = static_cast<uInt>(bytes.size());
  char buffer[1 << 16];
  do {
    stream->next_out = reinterpret_cast<Bytef*>(buffer);
    stream->avail_out = sizeof buffer;
    ::deflate(stream, finish ? Z_FINISH : Z_NO_FLUSH);
    write_raw(buffer, sizeof buffer - stream->avail_out);
  } while (stream->avail_out == 0);
}

void AtomicFile::commit() {
  if (gzip_ != nullptr) deflate({}, true);
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("{}: cannot be written: {}", path_.string(), reason());
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail("{}: cannot be written: {}", path_.string(), reason());
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("{}: cannot be renamed into place: {}", path_.string(), reason());
  committed_ = true;
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    ::fsync(handle);  // the rename itself reaches the disk; not every file system offers it, and the file is whole either way
    ::close(handle);
  }
}

void write_file(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void make_folder(const fs::path& path) {
  std::error_code error, found;
  fs::create_directories(path, error);
  if (!fs::is_directory(path, found)) {
    fail("{}: expected a folder that can be made: {}", path.string(), error ? error.message() : "a file stands there");
  }
}

void check_folder_place(const fs::path& path) {
  std::error_code error;
  fs::path there = fs::absolute(path, error).lexically_normal(), missing;
  while (fs::status(there, error).type() == fs::file_type::not_found && there.has_relative_path()) {
    missing = there;
    there = there.has_filename() ? there.parent_path() : there.parent_path().parent_path();
  }
  if (!fs::is_directory(there, error)) {
    fail("{}: expected a folder that can be made: {}", path.string(), error ? error.message() : there.string() + " is a file");
  }
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    fail("{}: expected a folder that can be written: {}: {}", path.string(), there.string(), reason());
  }
  // Rights are not all that it may want: none can be made under /proc.
  if (missing.empty()) return;
  const bool made = fs::create_directory(missing, error);
  if (error) fail("{}: expected a folder that can be made: {}", path.string(), error.message());
  if (made) fs::remove(missing, error);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FolderLock::hold(const fs::path& folder, std::string_view work) {
  if (descriptor_ >= 0) return;
  descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(std::exchange(descriptor_, -1));
  fail("{}: another {} is at work in this folder", folder.string(), work);
}

std::string folder_name(const fs::path& path) {
  std::error_code error;
  const fs::path written = fs::absolute(path, error).lexically_normal();
  const fs::path whole = written.has_filename() ? written : written.parent_path();
  const fs::path name = whole.filename();
  return (name == "model" ? whole.parent_path().filename() / name : name).string();
}

void check_file_place(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::is_directory(status)) fail("{}: expected a file name, found a directory", path.string());
  fs::path there = path;
  if (!fs::exists(status)) there = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (::access(there.c_str(), fs::exists(status) ? W_OK : W_OK | X_OK) != 0) fail("{}: cannot be written: {}", path.string(), reason());
}

void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.filename().string().find(kTemporaryMark) == std::string::npos) continue;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_SH | LOCK_NB) == 0) ::unlink(path.c_str());  // nobody writes it any more
    ::close(descriptor);
  }
}

}  // namespace jumok
