#include "arriving_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace jumok {

ArrivingInput::ArrivingInput(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

bool ArrivingInput::line_arrived() { return find_line(false); }

void ArrivingInput::await_line() { find_line(true); }

bool ArrivingInput::find_line(bool wait) {
  for (size_t searched = 0;;) {
    const std::string_view waiting(gptr(), static_cast<size_t>(egptr() - gptr()));
    if (ended_ || waiting.find('\n', searched) != std::string_view::npos) return true;
    searched = waiting.size();
    if (!wait && !readable()) return false;
    read_more();
  }
}

bool ArrivingInput::readable() const {
  pollfd asked{descriptor_, POLLIN, 0};
  return ::poll(&asked, 1, 0) > 0;  // also at the end of the input, and where reading will fail
}

// Appends what one read gives, behind the part of a line that is still there.
void ArrivingInput::read_more() {
  constexpr size_t kBlock = 1 << 16;  // what a pipe holds
  const auto kept = static_cast<size_t>(egptr() - gptr());
  if (kept > 0) std::memmove(buffer_.data(), gptr(), kept);
  buffer_.resize(kept + kBlock);
  ssize_t got = 0;
  while ((got = ::read(descriptor_, buffer_.data() + kept, kBlock)) < 0) {
    if (errno == EAGAIN) {
      pollfd asked{descriptor_, POLLIN, 0};
      ::poll(&asked, 1, -1);
    } else if (errno != EINTR) {
      fail("{}: cannot be read: {}", name_, std::strerror(errno));
    }
  }
  ended_ = got == 0;
  bytes_ += got;
  setg(buffer_.data(), buffer_.data(), buffer_.data() + kept + got);
}

ArrivingInput::int_type ArrivingInput::underflow() {
  if (gptr() == egptr() && !ended_) read_more();
  return gptr() == egptr() ? traits_type::eof() : traits_type::to_int_type(*gptr());
}

std::vector<std::string> next_window(ArrivingInput& input, LineReader& reader, int64_t most) {
  std::vector<std::string> lines;
  std::string line;
  input.await_line();
  while (static_cast<int64_t>(lines.size()) < most && input.line_arrived() && reader.next(line)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace jumok
