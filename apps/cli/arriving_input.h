// Standard input that can be asked whether a line has arrived, so that whoever feeds a pipe line by line gets answers line by line.
#pragma once

#include <cstdint>
#include <streambuf>
#include <string>
#include <vector>

#include "text/lines.h"

namespace jumok {

// A buffer for std::istream over an open file, pipe, socket or terminal. Of a regular file every line "has arrived".
class ArrivingInput : public std::streambuf {
 public:
  // `name` is what messages call it. The descriptor is not closed.
  ArrivingInput(int descriptor, std::string name);

  // Whether the next line can be read without waiting: its LF, or the end of the input, is here. Throws Error with the system's reason
  // where reading fails.
  bool line_arrived();
  // Waits until it has.
  void await_line();

  int64_t bytes_read() const { return bytes_; }  // so far, lines not yet asked for included

 protected:
  int_type underflow() override;

 private:
  bool find_line(bool wait);
  bool readable() const;
  void read_more();

  int descriptor_;
  std::string name_;
  std::vector<char> buffer_;  // [gptr, egptr) is what waits to be read
  int64_t bytes_ = 0;
  bool ended_ = false;
};

// Waits for one line and takes what else has arrived, at most `most` lines; none at the end of the input. `reader` reads `input`.
std::vector<std::string> next_window(ArrivingInput& input, LineReader& reader, int64_t most);

}  // namespace jumok
