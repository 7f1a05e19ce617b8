// Throwing an Error with a formatted text.
#pragma once

#include <fmt/format.h>
#include <jumok/error.h>

namespace jumok {

// fail("{}: expected {} rows, found {}", path, a, b) throws Error with that text.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// check(condition, ...) is fail(...) unless the condition holds. For input; our own mistakes are asserts.
template <typename... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(format, std::forward<Args>(args)...);
}

}  // namespace jumok
