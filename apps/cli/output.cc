#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace jumok {
namespace {

// `reason` is an errno, 0 when it is no longer known (the write failed earlier, inside std::cout or printf).
[[noreturn]] void fail_output(int reason) {
  if (reason == EPIPE) throw OutputClosed();
  fail("standard output: cannot be written{}{}", reason != 0 ? ": " : "", reason != 0 ? std::strerror(reason) : "");
}

}  // namespace

void write_output(std::string_view bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail_output(errno);
}

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0) fail_output(errno);
}

void close_output() {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fclose(stdout) != 0) fail_output(errno);  // some systems report a full disk or quota only here
  if (failed_before) fail_output(0);
}

void prepare_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int stream = 0; stream <= 2; ++stream) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // The lowest free number is `stream` itself. Opened the wrong way round on purpose: using it fails instead of losing data silently.
    if (::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

}  // namespace jumok
