// Standard output of the program: every failed write is noticed, whether it fails at once, at a flush or at the end.
#pragma once

#include <exception>
#include <string_view>

namespace jumok {

// The reader of our standard output has gone (`jumok … | head`): not an error to talk about, but a reason to stop.
class OutputClosed : public std::exception {
 public:
  const char* what() const noexcept override { return "standard output was closed by its reader"; }
};

// Appends to standard output (buffered). Throws Error with the system's reason, or OutputClosed when nobody reads any more.
void write_output(std::string_view bytes);

// Hands what is buffered to the system: for results that somebody waits for. Throws like write_output.
void flush_output();

// Flushes and closes standard output at the end of the program, whatever wrote to it (write_output, std::cout, printf). Throws like
// write_output.
void close_output();

// Once, first thing in main: a broken pipe becomes a failed write instead of a signal, and standard streams that the caller closed are
// filled so that no file opened later takes their number and receives our output.
void prepare_standard_streams();

}  // namespace jumok
