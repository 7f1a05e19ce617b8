// JSON as the program prints it.
#pragma once

#include <string>
#include <string_view>

namespace jumok {

// `text` (UTF-8) in quotes, with the escapes JSON demands.
std::string json_string(std::string_view text);

// `value` as a number, true or false where it is one, else as a string.
std::string json_value(std::string_view value);

}  // namespace jumok
