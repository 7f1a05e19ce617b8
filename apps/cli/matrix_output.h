// Files with the attention of every layer and head, for other programs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jumok/aligner.h"

namespace jumok {

// One of the formats below, written pair by pair; nothing stands under the final name before commit().
class MatrixOutput {
 public:
  virtual ~MatrixOutput() = default;
  virtual void write(const AttentionMatrices& matrices, const std::string& source, const std::string& target) = 0;
  virtual void commit() = 0;
};

// json  a file: an object a line and pair: "pair" (from 0), "source", "target" (symbols), "maps": "layer", "head", "weights" (a row for
// each
//       target symbol);
// tsv   a file: a line a weight under a line of names: pair, layer, head, target, source (all from 0), both symbols, weight;
// npy   a new or empty folder: 000000.npy, …: float32 [layers, heads, T, S], and symbols.jsonl, an object a line: "pair", "source",
//       "target". Files appear one by one, each of them whole;
// html  a page to look at.
// Throws Error where it is already clear that `path` cannot be written. `title` is that of the page.
std::unique_ptr<MatrixOutput> open_matrix_output(const std::string& format, const std::string& path, const std::string& title);

// A .npy file, format 1.0: little-endian float32 in C order (numpy/lib/format.py describes it). As many values as `shape` says.
std::string npy_bytes(std::span<const float> values, std::span<const size_t> shape);

}  // namespace jumok
