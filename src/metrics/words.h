// Words as numbers: equal words of one sentence pair have equal numbers.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace jumok::metrics {

class WordNumbers {
 public:
  // The views must outlive this object.
  std::vector<uint32_t> operator()(const std::vector<std::u32string_view>& words) {
    std::vector<uint32_t> numbers;
    numbers.reserve(words.size());
    for (const auto word : words) numbers.push_back(numbers_.try_emplace(word, static_cast<uint32_t>(numbers_.size())).first->second);
    return numbers;
  }

 private:
  std::unordered_map<std::u32string_view, uint32_t> numbers_;
};

}  // namespace jumok::metrics
