#include "models/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/near_miss.h"

namespace jumok {
namespace {

template <typename Number>
bool parse_number(const std::string& text, Number& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

}  // namespace

void Settings::integer(std::string key, int& value, int64_t least, int64_t most, std::string help) {
  auto set = [&value, least, most](const std::string& text) {
    int64_t number = 0;
    if (!parse_number(text, number) || number < least || number > most) return false;
    value = static_cast<int>(number);
    return true;
  };
  all_.push_back({std::move(key), std::move(help), fmt::format("{} … {}", least, most), [&value] { return std::to_string(value); }, set});
  all_.back().is_whole = true;
}

void Settings::real(std::string key, double& value, double least, double most, std::string help) {
  auto set = [&value, least, most](const std::string& text) {
    double number = 0;
    if (!parse_number(text, number) || !(number >= least && number <= most)) return false;
    value = number;
    return true;
  };
  all_.push_back(
      {std::move(key), std::move(help), fmt::format("{} … {}", least, most), [&value] { return fmt::format("{}", value); }, set});
}

void Settings::flag(std::string key, bool& value, std::string help) {
  auto set = [&value](const std::string& text) {
    if (text != "true" && text != "false") return false;
    value = text == "true";
    return true;
  };
  all_.push_back({std::move(key), std::move(help), "true | false", [&value] { return value ? "true" : "false"; }, set});
}

void Settings::set(std::string_view key, std::string_view value, std::string_view where) {
  for (const Setting& s : all_) {
    if (s.key != key) continue;
    check(s.set(std::string(value)), "{}: {} = {}: expected {}{}", where, key, value, s.is_whole ? "a whole number, " : "", s.range);
    return;
  }
  refuse_key(key, where);
}

void Settings::refuse_key(std::string_view key, std::string_view where) const {
  std::vector<std::string> own, keys;
  for (const Setting& s : all_) own.push_back(s.key);
  keys = own;
  for (const Foreign& f : foreign_) keys.push_back(f.key);
  const auto foreign = [&](std::string_view k) {
    return std::find_if(foreign_.begin(), foreign_.end(), [&](const Foreign& f) { return f.key == k; });
  };
  std::string answer;
  if (const auto f = foreign(key); f != foreign_.end()) {
    answer = fmt::format(": it belongs to {}{}{}", f->owner, f->counterpart.empty() ? "" : "; ", f->counterpart);
  } else {
    std::string near = near_miss(key, keys);
    if (near.empty()) near = near_miss(key, own);  // the only one that begins with it
    const auto other = foreign(near);
    if (!near.empty()) answer = fmt::format("; did you mean \"{}\"{}?", near, other == foreign_.end() ? "" : ", of " + other->owner);
  }
  fail("{}: there is no setting \"{:.100}\"{}", where, key, answer);
}

void Settings::set_assignment(std::string_view assignment, std::string_view where) {
  const size_t equals = assignment.find('=');
  check(equals != std::string_view::npos && equals > 0, "{}: expected key=value, found \"{}\"", where, assignment);
  set(assignment.substr(0, equals), assignment.substr(equals + 1), where);
}

nlohmann::ordered_json Settings::to_json() const {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Setting& s : all_) {
    if (s.is_text) {
      object[s.key] = s.get();
    } else {
      object[s.key] = nlohmann::ordered_json::parse(s.get());
    }
  }
  return object;
}

void Settings::from_json(const nlohmann::ordered_json& object, std::string_view where) {
  check(object.is_object(), "{}: expected an object of settings, found {}", where, object.type_name());
  for (const auto& [key, value] : object.items()) {
    const auto setting = std::find_if(all_.begin(), all_.end(), [&k = key](const Setting& s) { return s.key == k; });
    const bool is_text = setting != all_.end() && setting->is_text;  // an unknown key is set()'s to refuse
    check(setting == all_.end() || value.is_string() == is_text, "{}: {} = {}: expected {}", where, key, value.dump(), setting->range);
    set(key, is_text ? value.get<std::string>() : value.dump(), where);
  }
}

}  // namespace jumok
