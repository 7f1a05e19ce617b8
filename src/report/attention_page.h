// The page on which one looks at attention: every sentence with the map of every layer and head.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jumok {

// What one sentence attended to, in every layer and head.
struct AttentionExample {
  std::string source, output, reference, note;  // whole sentences; an empty one is left out
  std::vector<std::string> rows, columns;       // T target tokens, S source tokens
  int layers = 1, heads = 1;
  int64_t number = 0;                    // what the sentence is called; 0: its place on the page
  std::vector<std::vector<float>> maps;  // layers × heads of them (layer · heads + head), each [T, S] row-major
};

// For each sentence its texts, a large map (the mean over all heads at first) and a small one per head to choose from by click or key.
std::string attention_page(std::string_view title, std::span<const AttentionExample> examples);

}  // namespace jumok
