#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

constexpr char kTemporaryMark[] = ".jumok-tmp-";

std::string reason() { return std::strerror(errno); }

void check_readable(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) fail("{}: expected a file, found nothing there", path.string());
  if (fs::is_directory(status)) fail("{}: expected a file, found a directory", path.string());
}

}  // namespace

std::string read_file(const fs::path& path) {
  check_readable(path);
  // gzread passes plain files through, so one loop reads both; only names ending in .gz must be compressed.
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) fail("{}: cannot be opened: {}", path.string(), reason());
  const bool compressed = path.extension() == ".gz";
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const int got = gzread(file.get(), buffer, sizeof buffer);
    int code = Z_OK;
    const char* message = gzerror(file.get(), &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      fail("{}: {}", path.string(), code == Z_BUF_ERROR ? "the compressed data is cut short" : message);
    }
    if (got == 0) break;
    bytes.append(buffer, static_cast<size_t>(got));
  }
  if (compressed && gzdirect(file.get()) && !bytes.empty()) fail("{}: expected gzip data, found something else", path.string());
  return bytes;
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (fs::is_directory(path_)) fail("{}: expected a file name, found a directory", path_.string());
  temporary_ = path_;
  temporary_ += kTemporaryMark + std::to_string(::getpid());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("{}: cannot be written: {}", path_.string(), reason());
  if (path_.extension() == ".gz") {
    auto stream = std::make_unique<z_stream>();
    std::memset(stream.get(), 0, sizeof(z_stream));
    constexpr int kGzipWindow = 15 + 16;
    if (deflateInit2(stream.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      fail("{}: the compressor does not start", path_.string());
    }
    gzip_ = stream.release();
  }
}

AtomicFile::~AtomicFile() {
  if (gzip_ != nullptr) {
    deflateEnd(static_cast<z_stream*>(gzip_));
    delete static_cast<z_stream*>(gzip_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_) ::unlink(temporary_.c_str());
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
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("{}: cannot be renamed into place: {}", path_.string(), reason());
  committed_ = true;
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    ::fsync(handle);   // the rename itself reaches the disk; not every file system offers it, and the file is whole either way
    ::close(handle);
  }
}

void write_file(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!fs::is_directory(path)) {
    fail("{}: expected a folder that can be made: {}", path.string(), error ? error.message() : "a file stands there");
  }
}

void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().find(kTemporaryMark) != std::string::npos) fs::remove(entry.path(), error);
  }
}

}  // namespace jumok
