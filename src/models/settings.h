// Named options of a struct: one table serves --set, presets, config.json and the documentation.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jumok {

struct Setting {
  std::string key;    // "encoder.layers"
  std::string help;   // one sentence, with the unit
  std::string range;  // "1 … 64", "pre | post", "true | false"
  std::function<std::string()> get;
  std::function<bool(const std::string&)> set;  // false: not a value of this setting
  bool is_text = false;                         // in JSON: a string rather than a bare number or truth value
  bool is_whole = false;                        // a whole number: 8.5 lies in the range and is none
};

// Refers to the members it was bound to: it must not outlive the struct.
class Settings {
 public:
  void integer(std::string key, int& value, int64_t least, int64_t most, std::string help);
  void real(std::string key, double& value, double least, double most, std::string help);
  void flag(std::string key, bool& value, std::string help);
  // One of named values of an enum.
  template <typename Enum>
  void choice(std::string key, Enum& value, std::vector<std::pair<std::string, Enum>> names, std::string help) {
    std::string range;
    for (const auto& [name, unused] : names) range += (range.empty() ? "" : " | ") + name;
    auto get = [&value, names] {
      for (const auto& [name, v] : names) {
        if (v == value) return name;
      }
      return std::string();
    };
    auto set = [&value, names](const std::string& text) {
      for (const auto& [name, v] : names) {
        if (name == text) return value = v, true;
      }
      return false;
    };
    all_.push_back({std::move(key), std::move(help), std::move(range), get, set, true});
  }

  // A key that is not of this struct but of another of its kind, and what to say to whoever sets it here: a guess at the spelling would
  // lead astray.
  struct Foreign {
    std::string key;
    std::string owner;        // "recurrent models"
    std::string counterpart;  // `a Transformer has "model.width"`, or ""
  };
  void foreign(Foreign key) { foreign_.push_back(std::move(key)); }

  void append(const Settings& more) {
    all_.insert(all_.end(), more.all_.begin(), more.all_.end());
    foreign_.insert(foreign_.end(), more.foreign_.begin(), more.foreign_.end());
  }
  const std::vector<Setting>& all() const { return all_; }

  // Throws Error: an unknown key is answered with what it belongs to or with a known one if one is near, a bad value with the range.
  // `where` says where it was written.
  void set(std::string_view key, std::string_view value, std::string_view where);
  // "key=value".
  void set_assignment(std::string_view assignment, std::string_view where);

  // A flat object {"encoder.layers": 4, …}; from_json wants exactly known keys of the right type and leaves missing ones as they are.
  nlohmann::ordered_json to_json() const;
  void from_json(const nlohmann::ordered_json& object, std::string_view where);

 private:
  [[noreturn]] void refuse_key(std::string_view key, std::string_view where) const;

  std::vector<Setting> all_;
  std::vector<Foreign> foreign_;
};

}  // namespace jumok
