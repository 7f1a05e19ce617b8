// Files with the attention of every layer and head, for other programs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jumok/attention_matrices.h"

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
// svg   a new or empty folder: 000000.svg, …, the mean of all layers and heads, and 000000-layer0-head0.svg, … one each;
// html  a page to look at.
// Throws Error where it is already clear that `path` cannot be written. `title` is that of the page.
std::unique_ptr<MatrixOutput> open_matrix_output(const std::string& format, const std::string& path, const std::string& title);

// --matrix FORMAT PATH, as often as wanted, and --matrix-pairs N, as every command has them.
struct MatrixOptions {
  std::vector<std::pair<std::string, std::string>> files;  // format, path
  int pairs = 0;                                           // the first; 0: all, of html and svg 20
  Attentions which = Attentions::kSource;
};
// `what` has the weights: "the attention of every layer and head"; `count` names --matrix-pairs: "Pairs".
void add_matrix_options(CLI::App& sub, MatrixOptions& options, const std::string& what, const std::string& count);
// Throws CLI::ValidationError where two of the files are one, or one is among `others` (empty names are none).
void check_matrix_paths(const MatrixOptions& options, const std::vector<std::string>& others = {});

// The attention of the first pairs of a run, window by window, in every format wanted.
class MatrixWriter {
 public:
  // Throws Error where it is already clear that a path cannot be written.
  MatrixWriter(const MatrixOptions& options, const std::string& model);
  // `of(i)` gives the weights of pair i of these; one at a time: all of a window would fill the memory.
  void write(std::span<const std::string> sources, std::span<const std::string> targets,
             const std::function<AttentionMatrices(size_t)>& of);
  void commit();
  explicit operator bool() const { return !outputs_.empty(); }

 private:
  struct Limited {
    std::unique_ptr<MatrixOutput> output;
    size_t left;  // pairs that are still to be written to it
  };
  std::vector<Limited> outputs_;
};

// --matrix-of NAME, where a model has several kinds of attention.
void add_matrix_kind(CLI::App& sub, MatrixOptions& options);

// A .npy file, format 1.0: little-endian float32 in C order (numpy/lib/format.py describes it). As many values as `shape` says.
std::string npy_bytes(std::span<const float> values, std::span<const size_t> shape);

}  // namespace jumok
