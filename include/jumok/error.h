// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

namespace jumok {

// Thrown on every bad input. The text is one line: what was expected, what was found, and where (file, line, option).
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace jumok
