#include "values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace jumok {
namespace {

constexpr int64_t kNoMost = std::numeric_limits<int64_t>::max();

// The whole text as one number; a '+' in front is no sign of a mistake.
template <typename Number>
bool parse(std::string_view text, Number& value) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string refusal(std::string_view expected, std::string_view found) { return fmt::format("expected {}, found '{}'", expected, found); }

// Checks with `is_good` and hands on the number written plainly, so that CLI11 reads the same value.
template <typename Number, typename Good>
CLI::Validator number(Good is_good, const std::string& expected, const std::string& range) {
  const auto check = [is_good, expected](std::string& text) -> std::string {
    Number value{};
    if (!parse(text, value) || !is_good(value)) return refusal(expected, text);
    text = fmt::format("{}", value);
    return {};
  };
  return CLI::Validator(check, range);
}

}  // namespace

CLI::Validator whole(int64_t least, int64_t most) {
  const std::string range = most == kNoMost ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most);
  const std::string expected = most == kNoMost ? "a whole number, " + range : "a whole number from " + range;
  return number<int64_t>([least, most](int64_t v) { return v >= least && v <= most; }, expected, range);
}

CLI::Validator seed_value() {
  const std::string range = fmt::format("0 to {}", std::numeric_limits<uint64_t>::max());
  return number<uint64_t>([](uint64_t) { return true; }, "a whole number from " + range, "");
}

CLI::Validator real(double least, double most) {
  const std::string range = fmt::format("{} to {}", least, most);
  return number<double>([least, most](double v) { return v >= least && v <= most; }, "a number from " + range, range);
}

CLI::Validator positive_real() {
  return number<double>([](double v) { return v > 0 && std::isfinite(v); }, "a number above 0", "above 0");
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  const auto check = [names, list](std::string& text) {
    for (const std::string& name : names) {
      if (name == text) return std::string();
    }
    return refusal("one of " + list, text);
  };
  return CLI::Validator(check, list);
}

}  // namespace jumok
