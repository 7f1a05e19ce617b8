// What the values of options may be. An error names the option, what it takes and what was found: "--beam: expected a whole number from 1
// to 1000, found 'wide'". The description of each ("1 to 1000") stands in --help.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace jumok {

// Decimal digits only: CLI11 alone would read 010 as 8 and take what is too large for the largest number there is.
CLI::Validator whole(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());
// Any whole number of 64 bits, from 0.
CLI::Validator seed_value();

// A finite number; CLI11's own ranges let NaN pass, which is neither below nor above.
CLI::Validator real(double least, double most);
CLI::Validator positive_real();

CLI::Validator one_of(const std::vector<std::string>& names);

}  // namespace jumok
